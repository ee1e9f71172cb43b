# Bundles the program around its main file into one ES module, with a source map.
# typescript-build.sh ESBUILD DRIVERS OUTPUT SOURCE [OPTION]...
#
# Packages stay outside: Node finds them when the program runs.  The banner restores `require`,
# which ES modules lack, and the program's name as its users know it.
set -eu
esbuild=$1 drivers=$2 output=$3 source=$4
shift 4

case $source in
*[\"\'\\]*)
    echo "the name of the main file must not have quotation marks: $source" >&2
    exit 1
    ;;
esac
case $source in
*.tsx) loader=tsx ;;
*) loader=ts ;;
esac
[ -e tsconfig.json ] || set -- --jsx=automatic "$@"
set -- --bundle --platform=node --format=esm --target=node20 --packages=external \
    --sourcemap=inline --sources-content=false --log-level=warning --color=false "--outfile=$output" \
    "--define:SOURCE=\"$source\"" "--inject:$drivers/typescript-names.js" \
    --define:import.meta.url=sandbox_run_url --define:import.meta.filename=__filename \
    --define:import.meta.dirname=__dirname --define:import.meta.main=false \
    --define:require.main=sandbox_run_main \
    "--banner:js=import{createRequire as sandboxRunRequire}from'node:module';var require=sandboxRunRequire('$source');process.argv[1]='$source';" \
    "$@"

# A bundle does not distinguish its files, so "is this the main file?" is answered in its text.  The
# answer is as long as the question, so that columns stay correct.
question='require\.main ===\{0,1\} module\|module ===\{0,1\} require\.main\|import\.meta\.main'
if grep -q "$question" "$source"; then
    sed -e 's/require\.main === module/true                  /g' \
        -e 's/module === require\.main/true                  /g' \
        -e 's/require\.main == module/true                 /g' \
        -e 's/module == require\.main/true                 /g' \
        -e 's/import\.meta\.main/true            /g' "$source" |
        "$esbuild" "--sourcefile=$source" "--loader=$loader" "$@"
else
    "$esbuild" "$source" "$@"
fi
