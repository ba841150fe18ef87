#!/usr/bin/env bash
# A Kaldi data folder to train on and one to test on; see README.md beside this file.
#
#   TRAIN=data/train TEST=data/test [LEXICON=lexicon.txt] recipes/kaldi-data/run.sh
exec "$(dirname "$0")/../folder/run.sh" "${WORK:-$(dirname "$0")/../../target/kaldi-data}"
