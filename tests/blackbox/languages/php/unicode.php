<?php
$grüße = ["日本" => "Nihon", "🦀" => "Krebs", "e\u{301}" => "combining"];
foreach ($grüße as $wort => $sinn) {
    echo "$wort ", preg_match_all('/./su', $wort), " $sinn\n";
}
preg_match_all('/./su', trim(fgets(STDIN)), $zeichen);
echo implode("", array_reverse($zeichen[0])), " Ö\n";
