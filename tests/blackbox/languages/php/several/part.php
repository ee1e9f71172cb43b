<?php
function join_words(array $words): string
{
    return implode("+", $words);
}
