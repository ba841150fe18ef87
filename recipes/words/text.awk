# Sentences of lower-case words, one a line: from manifests (the column `words`) and from files of tokens (a token a line, its tag
# behind a tab, a blank line after each sentence), which are told apart by the header `utterance`. Typographic apostrophes become
# plain, punctuation goes, hyphens part words; what English tokenisers split off (n't, 's, 'll) is put back.
function put(text,   count, i, words, word) {
  text = tolower(text)
  gsub(/\342\200\231/, "'", text)
  gsub(/-/, " ", text)
  count = split(text, words, /[ \t]+/)
  for (i = 1; i <= count; i++) {
    word = words[i]
    attached = word ~ /^('(s|m|d|ll|re|ve)|n't)$/ && sentence != ""
    gsub(/^[^a-z]+|[^a-z]+$/, "", word)
    if (word !~ /^[a-z][a-z'.]*$/) continue
    if (attached) sentence = sentence (words[i] ~ /^n't/ ? "n't" : "'" word)
    else sentence = sentence (sentence == "" ? "" : " ") word
  }
}
function finish() {
  if (sentence != "") print sentence
  sentence = ""
}
FNR == 1 {
  finish()
  column = 0
  for (i = 1; i <= NF; i++) if ($i == "words") column = i
  table = ($1 == "utterance")
  if (table) next
}
table { put($column); finish(); next }
$0 == "" { finish(); next }
{ put($1) }
END { finish() }
