-- Arguments are the parameters ?1, ?2, ...
SELECT 'args: ' || coalesce('[' || ?1 || ']', '') || coalesce('[' || ?2 || ']', '') || coalesce('[' || ?3 || ']', '')
    || coalesce('[' || ?4 || ']', '') || coalesce('[' || ?5 || ']', '') || coalesce('[' || ?6 || ']', '')
    || coalesce('[' || ?7 || ']', '');
