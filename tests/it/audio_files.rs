//! Audio files as people have them: made here by hound or byte by byte, and real ones from the folder `SENONE_SHARED`.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use senone::Error;
use senone::audio::{self, Audio, AudioOptions, Channel, Notice, Reader};

use super::util::Dir;

fn read_as(bytes: Vec<u8>, sample_rate_hz: u32, channel: Channel) -> senone::Result<Audio> {
    let (name, options) = (Path::new("made.wav"), AudioOptions { sample_rate_hz, channel });
    let arrived = Reader::new(name, Box::new(Cursor::new(bytes.clone())), &options).and_then(by_blocks);
    let whole = audio::read_bytes(name, bytes, &options);
    assert_eq!(reasoned(arrived), reasoned(whole_of(&whole)));
    whole
}

/// What the blocks are, put together.
fn by_blocks(mut reader: Reader) -> senone::Result<Audio> {
    let mut samples = vec![];
    while let Some(mut block) = reader.next_block()? {
        samples.append(&mut block);
    }
    Ok(Audio { samples, sample_rate: 0, notices: reader.notices().to_vec() })
}

fn whole_of(audio: &senone::Result<Audio>) -> senone::Result<Audio> {
    match audio {
        Ok(audio) => Ok(Audio { sample_rate: 0, ..audio.clone() }),
        Err(error) => Err(Error::Other(error.to_string())),
    }
}

fn reasoned(audio: senone::Result<Audio>) -> Result<Audio, String> {
    audio.map_err(|error| error.to_string())
}

/// At 16 kHz, which is what the files here have.
fn read(bytes: Vec<u8>) -> Audio {
    read_as(bytes, 16_000, Channel::Mix).unwrap()
}

fn reason(bytes: Vec<u8>) -> String {
    match read_as(bytes, 16_000, Channel::Mix) {
        Err(error @ Error::Audio { .. }) => error.to_string(),
        other => panic!("expected an audio error, got {other:?}"),
    }
}

/// A wave between -0.9 and 0.9.
fn wave(count: usize) -> Vec<f64> {
    (0..count).map(|n| 0.9 * (n as f64 * 0.05).sin()).collect()
}

fn assert_close(found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (index, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(found) - expected).abs() <= tolerance, "sample {index}: {found}, expected {expected}");
    }
}

fn by_hound(bits: u16, channels: u16, sample_rate: u32, samples: &[f64]) -> Vec<u8> {
    let sample_format = hound::SampleFormat::Int;
    let spec = hound::WavSpec { channels, sample_rate, bits_per_sample: bits, sample_format };
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = hound::WavWriter::new(&mut bytes, spec).unwrap();
    let scale = (1u64 << (bits - 1)) as f64;
    for sample in samples {
        writer.write_sample((sample * scale).round() as i32).unwrap();
    }
    writer.finalize().unwrap();
    bytes.into_inner()
}

fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = name.to_vec();
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    bytes
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = chunks.concat();
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((body.len() as u32 + 4).to_le_bytes());
    bytes.extend(b"WAVE");
    bytes.extend(body);
    bytes
}

/// A fmt chunk's body: mono, 16 kHz.
fn format(tag: u16, bits: u16, container_bytes: u16) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(tag.to_le_bytes());
    body.extend(1u16.to_le_bytes());
    body.extend(16_000u32.to_le_bytes());
    body.extend((16_000 * u32::from(container_bytes)).to_le_bytes());
    body.extend(container_bytes.to_le_bytes());
    body.extend(bits.to_le_bytes());
    body
}

fn pcm16(samples: &[f64]) -> Vec<u8> {
    samples.iter().flat_map(|sample| ((sample * 32768.0).round() as i16).to_le_bytes()).collect()
}

fn pcm16_file(samples: &[f64]) -> Vec<u8> {
    riff(&[chunk(b"fmt ", &format(1, 16, 2)), chunk(b"data", &pcm16(samples))])
}

#[test]
fn integers_of_every_width_are_what_was_written() {
    let expected = wave(3000);
    for (bits, step) in [(8, 1.0 / 128.0), (16, 1.0 / 32768.0), (24, 1.0 / 8_388_608.0), (32, 1e-7)] {
        let audio = read(by_hound(bits, 1, 16_000, &expected));
        assert_close(&audio.samples, &expected, step);
        assert_eq!(audio.notices, [], "{bits} bits");
    }
}

#[test]
fn the_sample_is_read_as_hound_reads_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sense-and-sensibility.wav");
    let audio = audio::read(&path, &AudioOptions::default()).unwrap();
    let mut reader = hound::WavReader::open(&path).unwrap();
    let expected: Vec<f32> = reader.samples::<i16>().map(|sample| f32::from(sample.unwrap()) / 32768.0).collect();
    assert_eq!(audio.samples, expected);
    assert_eq!((audio.sample_rate, audio.notices.len()), (16_000, 0));
    assert!((2.98..3.0).contains(&(expected.len() as f64 / 16_000.0)));
}

#[test]
fn floats_are_read_and_cut_where_out_of_range() {
    let expected = wave(500);
    let short: Vec<u8> = expected.iter().flat_map(|&sample| (sample as f32).to_le_bytes()).collect();
    let long: Vec<u8> = expected.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let mut extended = format(3, 32, 4);
    extended.resize(40, 0);
    for (fmt, data) in [(format(3, 32, 4), &short), (extended, &short), (format(3, 64, 8), &long)] {
        let audio = read(riff(&[chunk(b"fmt ", &fmt), chunk(b"data", data)]));
        assert_close(&audio.samples, &expected, 1e-7);
    }
    let loud = [0.5f32.to_le_bytes(), (-7f32).to_le_bytes()].concat();
    let audio = read(riff(&[chunk(b"fmt ", &format(3, 32, 4)), chunk(b"data", &loud)]));
    assert_eq!(audio.samples, [0.5, -1.0]);
    assert_eq!(audio.notices, [Notice::Clipped { share: 0.5, peak: 7.0 }]);
}

#[test]
fn a_sample_that_is_no_number_is_an_error() {
    let data: Vec<u8> = [0.5f32, f32::NAN].into_iter().flat_map(f32::to_le_bytes).collect();
    let reason = reason(riff(&[chunk(b"fmt ", &format(3, 32, 4)), chunk(b"data", &data)]));
    assert_eq!(reason, "made.wav: sample 1 is not a finite number: the file is damaged");
}

/// Values of ITU-T G.711's tables, scaled to 16 bits.
#[test]
fn telephone_codes_are_expanded() {
    for (tag, pairs) in [
        (7, [(0xFFu8, 0), (0x7F, 0), (0x80, 32124), (0x00, -32124), (0xF0, 120), (0xEF, 132), (0x8F, 16764)]),
        (6, [(0xD5, 8), (0x55, -8), (0xAA, 32256), (0x2A, -32256), (0xD4, 24), (0x80, 5504), (0x9A, 4032)]),
    ] {
        let codes: Vec<u8> = pairs.iter().map(|pair| pair.0).collect();
        let mut fmt = format(tag, 8, 1);
        fmt.extend([0, 0]);
        let fact = chunk(b"fact", &7u32.to_le_bytes());
        let audio = read(riff(&[chunk(b"fmt ", &fmt), fact, chunk(b"data", &codes)]));
        let expected: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.1) / 32768.0).collect();
        assert_close(&audio.samples, &expected, 0.0);
    }
}

#[test]
fn channels_are_mixed_or_one_is_chosen() {
    let expected = wave(400);
    let both: Vec<f64> = expected.iter().flat_map(|sample| [*sample, 0.0]).collect();
    let bytes = by_hound(16, 2, 16_000, &both);
    let mixed = read(bytes.clone());
    let half: Vec<f64> = expected.iter().map(|sample| sample / 2.0).collect();
    assert_close(&mixed.samples, &half, 1e-4);
    assert_eq!(mixed.notices, [Notice::Mixed { channels: 2 }]);
    let second = read_as(bytes.clone(), 16_000, Channel::Only(1)).unwrap();
    assert_eq!(second.notices, [Notice::ChannelTaken { channel: 1, channels: 2 }, Notice::Silent]);
    let error = read_as(bytes, 16_000, Channel::Only(2)).unwrap_err();
    assert_eq!(error.to_string(), "made.wav: no channel 3: the file has 2");
}

#[test]
fn a_telephone_recording_says_what_it_lacks() {
    let audio = read(by_hound(16, 1, 8000, &wave(8000)));
    assert_eq!(audio.samples.len(), 16_000);
    assert_eq!(audio.notices, [Notice::Resampled { from_hz: 8000, to_hz: 16_000 }]);
    assert!(audio.notices[0].to_string().contains("nothing above 4000 Hz"));
}

#[test]
fn full_scale_is_told_once_it_is_more_than_a_peak() {
    let mut samples = wave(10_000);
    samples[17] = 32767.0 / 32768.0;
    assert_eq!(read(pcm16_file(&samples)).notices, []);
    let flat: Vec<f64> = samples.iter().map(|sample| (3.0 * sample).clamp(-1.0, 32767.0 / 32768.0)).collect();
    let notices = read(pcm16_file(&flat)).notices;
    assert!(
        matches!(notices[..], [Notice::Clipped { share, peak: 1.0 }] if (0.5..0.9).contains(&share)),
        "{notices:?}"
    );
}

#[test]
fn a_file_that_is_cut_off_is_used_as_far_as_it_goes() {
    let expected = wave(16_000);
    let mut bytes = pcm16_file(&expected);
    // To the middle of a sample.
    bytes.truncate(44 + 2 * 8000 + 1);
    let audio = read(bytes);
    assert_close(&audio.samples, &expected[..8000], 1e-4);
    assert_eq!(audio.notices, [Notice::CutOff { promised_seconds: Some(1.0), found_seconds: 0.5 }]);
}

#[test]
fn sizes_that_a_pipe_left_open_mean_all_that_is_there() {
    let expected = wave(100);
    for (whole, data) in [(u32::MAX, u32::MAX), (0x7FFF_FFFF, 0x7FFF_F000), (0x8000_0024, 0x8000_0000), (36, 0), (0, 0)]
    {
        let mut bytes = pcm16_file(&expected);
        bytes[4..8].copy_from_slice(&whole.to_le_bytes());
        bytes[40..44].copy_from_slice(&data.to_le_bytes());
        let audio = read(bytes);
        assert_close(&audio.samples, &expected, 1e-4);
        assert_eq!(audio.notices, [], "sizes {whole} and {data}");
    }
}

#[test]
fn chunks_may_be_odd_many_and_in_any_order() {
    let expected = wave(100);
    let (fmt, data) = (chunk(b"fmt ", &format(1, 16, 2)), chunk(b"data", &pcm16(&expected)));
    let list = chunk(b"LIST", b"INFOodd");
    let unpadded = list[..list.len() - 1].to_vec();
    let (first, second) = (chunk(b"data", &pcm16(&expected[..30])), chunk(b"data", &pcm16(&expected[30..])));
    let fact = chunk(b"fact", &[0; 8]);
    for chunks in [
        vec![fmt.clone(), list.clone(), data.clone()],
        vec![fmt.clone(), unpadded, data.clone()],
        vec![fmt.clone(), fact, data.clone(), list.clone()],
        vec![data.clone(), fmt.clone()],
        vec![fmt.clone(), first, list, second],
    ] {
        let audio = read(riff(&chunks));
        assert_close(&audio.samples, &expected, 1e-4);
        assert_eq!(audio.notices, []);
    }
}

#[test]
fn extensible_headers_are_read_whatever_their_extra_size() {
    let expected = wave(100);
    for extra in [22u16, 24] {
        let mut fmt = format(0xFFFE, 16, 2);
        fmt.extend(extra.to_le_bytes());
        fmt.extend(16u16.to_le_bytes());
        fmt.extend(4u32.to_le_bytes());
        fmt.extend(b"\x01\0\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71");
        fmt.resize(18 + usize::from(extra), 0);
        let audio = read(riff(&[chunk(b"fmt ", &fmt), chunk(b"data", &pcm16(&expected))]));
        assert_close(&audio.samples, &expected, 1e-4);
    }
}

#[test]
fn twenty_four_bits_in_four_bytes_are_never_noise() {
    let loud = wave(500);
    let quiet: Vec<f64> = loud.iter().map(|sample| sample / 1000.0).collect();
    let value = |sample: &f64| (sample * 8_388_608.0).round() as i32;
    for expected in [loud, quiet] {
        let upper: Vec<u8> = expected.iter().flat_map(|sample| (value(sample) << 8).to_le_bytes()).collect();
        let lower: Vec<u8> = expected.iter().flat_map(|sample| value(sample).to_le_bytes()).collect();
        for data in [upper, lower] {
            let audio = read(riff(&[chunk(b"fmt ", &format(1, 24, 4)), chunk(b"data", &data)]));
            assert_close(&audio.samples, &expected, 1e-6);
        }
    }
}

#[test]
fn the_big_endian_and_the_long_form_are_refused_by_name() {
    for name in [b"RIFX", b"RF64", b"BW64"] {
        let mut bytes = pcm16_file(&wave(100));
        bytes[..4].copy_from_slice(name);
        let (name, reason) = (String::from_utf8_lossy(name), reason(bytes));
        assert!(reason.contains(&*name) && reason.contains("not supported, expected WAV"), "{reason}");
    }
}

/// IMA ADPCM: four bits are a step; a step of 0 at the smallest step size leaves the predictor where it is.
#[test]
fn adpcm_is_decoded() {
    let mut fmt = format(0x11, 4, 36);
    fmt.extend([2, 0, 65, 0]);
    let mut block = 1000i16.to_le_bytes().to_vec();
    block.resize(36, 0);
    let audio = read(riff(&[chunk(b"fmt ", &fmt), chunk(b"data", &block)]));
    assert_close(&audio.samples, &[1000.0 / 32768.0; 65], 1e-6);
}

/// Forms that go to symphonia: the header is put right for it as for hound.
#[test]
fn what_hound_lacks_is_read_from_a_bad_file_too() {
    let silence = vec![0xFF; 16_000];
    let mut bytes = riff(&[
        chunk(b"LIST", b"INFOodd"),
        chunk(b"fmt ", &format(7, 8, 1)),
        chunk(b"fact", &[0; 8]),
        chunk(b"data", &silence),
    ]);
    bytes.truncate(bytes.len() - 4000);
    let audio = read(bytes);
    assert_eq!(audio.samples, [0.0; 12_000]);
    let cut = Notice::CutOff { promised_seconds: Some(1.0), found_seconds: 0.75 };
    assert_eq!(audio.notices, [cut, Notice::Silent]);

    let loud = riff(&[chunk(b"fmt ", &format(7, 8, 1)), chunk(b"data", &[0x80; 50])]);
    let notices = read(loud).notices;
    assert!(matches!(notices[..], [Notice::Clipped { share: 1.0, .. }]), "{notices:?}");
}

/// By the standard the bits that count are the upper ones: 12 of 16, and 20 of 24, say.
#[test]
fn widths_that_fill_no_byte_are_never_noise() {
    let expected = wave(500);
    for (bits, bytes) in [(12, 2), (20, 3), (20, 4)] {
        let value = |sample: &f64| (sample * f64::from(1 << (bits - 1))).round() as i32;
        for shift in [8 * bytes - bits, 0] {
            let put = |sample: &f64| (value(sample) << shift).to_le_bytes()[..bytes as usize].to_vec();
            let data: Vec<u8> = expected.iter().flat_map(put).collect();
            let audio = read(riff(&[chunk(b"fmt ", &format(1, bits, bytes)), chunk(b"data", &data)]));
            assert_close(&audio.samples, &expected, 1e-3);
        }
    }
}

#[test]
fn aiff_is_decoded() {
    let expected = wave(100);
    let big: Vec<u8> = pcm16(&expected).chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    // 1 channel, 100 frames, 16 bits, 16000 Hz as an 80-bit float.
    let common = [&[0, 1, 0, 0, 0, 100, 0, 16, 0x40, 0x0C, 0xFA][..], &[0; 7]].concat();
    let sound = [&[0; 8][..], &big].concat();
    let mut body = b"AIFF".to_vec();
    for (name, chunk) in [(b"COMM", &common), (b"SSND", &sound)] {
        body.extend(name);
        body.extend((chunk.len() as u32).to_be_bytes());
        body.extend(chunk);
    }
    let mut bytes = b"FORM".to_vec();
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    let audio = read(bytes);
    assert_close(&audio.samples, &expected, 1e-4);
    assert_eq!(audio.notices, []);
}

#[test]
fn what_cannot_be_used_is_refused_in_a_sentence() {
    let with = |at: usize, bytes: &[u8]| {
        let mut file = pcm16_file(&wave(100));
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    for (bytes, part) in [
        (Vec::new(), "the file is empty"),
        (b"These are the words that were spoken.\n".to_vec(), "text, not audio"),
        (b"NIST_1A\n   1024\n".to_vec(), "SPHERE file that ends within its header"),
        (pcm16_file(&[]), "no samples"),
        (with(24, &[0; 4]), "a sample rate of 0 Hz"),
        (with(24, &[0xFF; 4]), "a sample rate of 4294967295 Hz"),
        (with(22, &[0; 2]), "no channels"),
        (with(20, &[0x31, 0]), "GSM 6.10"),
        (with(34, &[0; 2]), "PCM samples of 0 bits"),
        (with(12, b"fmx "), "without a fmt chunk"),
        (with(36, b"dato"), "without a data chunk"),
        (b"RIFF".to_vec(), "cut off"),
        (b"fLaC".to_vec(), "cut off"),
        (vec![7; 1000], "an unknown format"),
    ] {
        let reason = reason(bytes);
        assert!(reason.starts_with("made.wav: ") && reason.contains(part), "{reason}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = audio::read(Path::new("no/such/file.wav"), &AudioOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("no/such/file.wav: cannot read: "), "{error}");
}

#[test]
fn a_huge_claim_needs_no_memory() {
    let mut bytes = pcm16_file(&wave(10));
    bytes[40..44].copy_from_slice(&0x7000_0000u32.to_le_bytes());
    let audio = read(bytes);
    assert_eq!(audio.samples.len(), 10);
    assert!(matches!(audio.notices[..], [Notice::CutOff { .. }]));
}

/// Bytes of `base` changed at random: whatever comes of it, it is no panic, and what is read is in range.
fn damage(base: &[u8], rounds: u64) {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for round in 0..rounds {
        let mut bytes = base.to_vec();
        // Headers are where the trouble is.
        let reach = if round % 2 == 0 { bytes.len().min(100) } else { bytes.len() };
        for _ in 0..1 + random(8) {
            bytes[random(reach)] = random(256) as u8;
        }
        if round % 3 == 0 {
            bytes.truncate(random(base.len()));
        }
        if let Ok(audio) = read_as(bytes, 16_000, Channel::Mix) {
            assert!(!audio.samples.is_empty());
            assert!(audio.samples.iter().all(|sample| (-1.0..=1.0).contains(sample)));
        }
    }
}

#[test]
fn damaged_bytes_are_no_panic() {
    damage(&riff(&[chunk(b"fmt ", &format(3, 64, 8)), chunk(b"data", &[0; 1600])]), 1000);
    damage(&pcm16_file(&wave(200)), 3000);
    damage(&by_hound(24, 2, 8000, &wave(400)), 1000);
}

fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("SENONE_SHARED").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: SENONE_SHARED names no folder of real recordings");
    }
    folder
}

/// Path and seconds of the first `count` utterances of a manifest.
pub fn utterances(manifest: &Path, count: usize) -> Vec<(PathBuf, f64)> {
    let text = std::fs::read_to_string(manifest).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name| header.iter().position(|&found| found == name).unwrap();
    let (audio, seconds) = (column("audio"), column("seconds"));
    lines.take(count).map(|line| (manifest.with_file_name(line[audio]), line[seconds].parse().unwrap())).collect()
}

#[test]
fn real_recordings_are_as_long_as_their_manifest_says() {
    let Some(shared) = shared() else { return };
    for (manifest, rate, tolerance) in [
        ("an4/test.tsv", 16_000, 0.002),
        ("fsdd/test.tsv", 8000, 0.002),
        // The manifest does not everywhere follow what the LAME tag says of padding; samples are returned that do.
        ("audio-cmn/train.tsv", 22_050, 0.012),
        ("shtooka-weigao/test.tsv", 44_000, 0.002),
    ] {
        for (path, seconds) in utterances(&shared.join("data").join(manifest), 20) {
            let audio = audio::read(&path, &AudioOptions::default()).unwrap();
            let found = audio.samples.len() as f64 / 16_000.0;
            assert!((found - seconds).abs() < tolerance, "{}: {found} s, expected {seconds}", path.display());
            let resampled = Notice::Resampled { from_hz: rate, to_hz: 16_000 };
            assert_eq!(audio.notices.contains(&resampled), rate != 16_000, "{}: {:?}", path.display(), audio.notices);
            let unexpected = |notice: &&Notice| matches!(notice, Notice::CutOff { .. } | Notice::Damaged { .. });
            assert_eq!(audio.notices.iter().find(unexpected), None, "{}", path.display());
        }
    }
}

/// FLAC, Ogg, MP3 and WAV, whole, cut short and with a hole.
#[test]
fn files_are_read_by_blocks_as_they_are_read_whole() {
    let Some(shared) = shared() else { return };
    let dir = Dir::new();
    let mut cut_off = 0;
    for manifest in
        ["an4/test.tsv", "fsdd/test.tsv", "audio-cmn/train.tsv", "shtooka-weigao/test.tsv", "speechocean762/test.tsv"]
    {
        let (path, _) = utterances(&shared.join("data").join(manifest), 1).remove(0);
        let bytes = std::fs::read(&path).unwrap();
        let mut holed = bytes.clone();
        holed[bytes.len() / 2..][..100].fill(0x55);
        let file = dir.path(path.file_name().unwrap().to_str().unwrap());
        for bytes in [&bytes[..], &bytes[..bytes.len() * 2 / 3], &bytes[..bytes.len() / 50], &holed] {
            std::fs::write(&file, bytes).unwrap();
            for sample_rate_hz in [16_000, 11_025] {
                let options = AudioOptions { sample_rate_hz, channel: Channel::Mix };
                let whole = audio::read(&file, &options);
                cut_off += whole.as_ref().map_or(1, |audio| audio.notices.len());
                let blocks = Reader::open(&file, &options).and_then(by_blocks);
                assert_eq!(reasoned(blocks), reasoned(whole_of(&whole)), "{}", path.display());
            }
        }
    }
    assert!(cut_off > 10, "{cut_off}");
}

#[test]
fn real_recordings_that_are_cut_off_say_so() {
    let Some(shared) = shared() else { return };
    for manifest in ["an4/test.tsv", "fsdd/test.tsv"] {
        let all = utterances(&shared.join("data").join(manifest), usize::MAX);
        let (path, seconds) = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() * 2 / 3);
        let audio = audio::read_bytes(&path, bytes, &AudioOptions::default()).unwrap();
        assert!((audio.samples.len() as f64) < 16_000.0 * seconds);
        assert!(audio.notices.iter().any(|notice| matches!(notice, Notice::CutOff { .. })), "{:?}", audio.notices);
    }
}

#[test]
fn damaged_recordings_are_no_panic() {
    let Some(shared) = shared() else { return };
    for manifest in ["an4/test.tsv", "fsdd/test.tsv", "audio-cmn/train.tsv"] {
        let (path, _) = utterances(&shared.join("data").join(manifest), 1).remove(0);
        damage(&std::fs::read(&path).unwrap(), 60);
    }
}
