//! FLAC, Ogg Vorbis, MP3, AIFF and what hound cannot read of WAV, by symphonia.
//!
//! Symphonia is trusted with the formats, not with hostile bytes: a panic in it becomes an error here.

use std::io::{self, Cursor};
use std::panic::{AssertUnwindSafe, catch_unwind};

use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::codecs::CodecParameters;
use symphonia::core::codecs::audio::well_known::{CODEC_ID_PCM_ALAW, CODEC_ID_PCM_MULAW};
use symphonia::core::codecs::audio::{AudioCodecId, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as SymphoniaError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;

use super::mixer::Mixer;
use super::sniff::Kind;
use super::{Channel, Notice, Reasoned, Recording, check_rate};

/// No packet of these formats is longer, whatever it claims.
const LONGEST_PACKET: u64 = 65_535;

/// Decodes `bytes`, which are of `kind`.
///
/// # Errors
/// When they cannot be decoded at all, or from the start.
pub(super) fn decode(bytes: &[u8], kind: Kind, channel: Channel) -> Reasoned<Recording> {
    let decoded = catch_unwind(AssertUnwindSafe(|| decode_unguarded(bytes, kind, channel)));
    decoded.unwrap_or_else(|_| Err("damaged in a way that the decoder cannot handle".to_owned()))
}

fn decode_unguarded(bytes: &[u8], kind: Kind, channel: Channel) -> Reasoned<Recording> {
    let stream = MediaSourceStream::new(Box::new(Cursor::new(bytes)), Default::default());
    let mut reader = symphonia::default::get_probe()
        .probe(&Hint::new(), stream, FormatOptions::default(), MetadataOptions::default())
        .map_err(|cause| refused(&cause))?;
    let track = reader.default_track(TrackType::Audio).ok_or("no audio in it")?.clone();
    let Some(CodecParameters::Audio(parameters)) = &track.codec_params else {
        return Err("audio of an unknown codec".to_owned());
    };
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .map_err(|cause| refused(&cause))?;
    let full_scale = full_scale(parameters.codec);
    let mut stream = Stream { channel, full_scale, started: None, pending: 0, damaged: 0, silence: 0 };
    let whole = stream.read_all(&mut *reader, &mut *decoder, track.id)?;
    let ended = whole && (kind != Kind::Ogg || has_end_mark(bytes));
    stream.finish(promised_frames(&track, kind), ended)
}

/// What a sample of `codec` cannot go beyond; for most, what 16 bits hold.
fn full_scale(codec: AudioCodecId) -> f32 {
    match codec {
        CODEC_ID_PCM_MULAW => 32124.0 / 32768.0,
        CODEC_ID_PCM_ALAW => 32256.0 / 32768.0,
        _ => 32767.0 / 32768.0,
    }
}

fn refused(cause: &SymphoniaError) -> String {
    match cause {
        SymphoniaError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "cut off before its audio begins".to_owned()
        }
        other => format!("cannot be decoded: {other}"),
    }
}

/// Frames that the header promises, where it does so with certainty: an MP3 file does so only in a LAME tag, without
/// which symphonia estimates.
fn promised_frames(track: &Track, kind: Kind) -> Option<u64> {
    track.num_frames.filter(|_| kind != Kind::Mp3 || track.delay.is_some())
}

/// Whether the last page of an Ogg stream says that it is the last (RFC 3533, header type flag 0x04).
fn has_end_mark(bytes: &[u8]) -> bool {
    let last = bytes.windows(4).rposition(|window| window == b"OggS");
    last.and_then(|start| bytes.get(start + 5)).is_some_and(|flags| flags & 0x04 != 0)
}

/// The decoding of one track.
struct Stream {
    channel: Channel,
    full_scale: f32,
    /// From the first packet that could be decoded on: rate and samples.
    started: Option<(u32, Mixer)>,
    /// Frames of damaged packets before that.
    pending: u64,
    damaged: usize,
    silence: u64,
}

impl Stream {
    /// Decodes all packets; whether the end was reached in good order.
    fn read_all(
        &mut self,
        reader: &mut dyn FormatReader,
        decoder: &mut dyn AudioDecoder,
        track: u32,
    ) -> Reasoned<bool> {
        let mut block = Vec::new();
        loop {
            let packet = match reader.next_packet() {
                Ok(Some(packet)) if packet.track_id == track => packet,
                Ok(Some(_)) => continue,
                Ok(None) => return Ok(true),
                Err(SymphoniaError::ResetRequired) => return Err(changed()),
                // Within a file that has begun well, it is the end of what can be used.
                Err(_) if self.started.is_some() => return Ok(false),
                Err(cause) => return Err(refused(&cause)),
            };
            match decoder.decode(&packet) {
                Ok(buffer) => self.push(&buffer, &mut block)?,
                Err(SymphoniaError::DecodeError(_) | SymphoniaError::IoError(_)) => self.push_damaged(&packet)?,
                Err(cause) => return Err(refused(&cause)),
            }
        }
    }

    fn push(&mut self, buffer: &GenericAudioBufferRef<'_>, block: &mut Vec<f32>) -> Reasoned<()> {
        let (rate, channels) = (buffer.spec().rate(), buffer.spec().channels().count());
        if self.started.is_none() {
            check_rate(rate)?;
            let mut mixer = Mixer::new(channels, self.channel, self.full_scale)?;
            mixer.push_silence(self.pending as usize)?;
            self.started = Some((rate, mixer));
        }
        let Some((first_rate, mixer)) = &mut self.started else { return Ok(()) };
        if (rate, channels) != (*first_rate, mixer.channels()) {
            return Err(changed());
        }
        buffer.copy_to_vec_interleaved(block);
        mixer.push(block)
    }

    /// Silence as long as `packet`, so that what follows keeps its time.
    fn push_damaged(&mut self, packet: &Packet) -> Reasoned<()> {
        let frames = packet.dur.get().min(LONGEST_PACKET);
        self.damaged += 1;
        self.silence += frames;
        match &mut self.started {
            Some((_, mixer)) => mixer.push_silence(frames as usize),
            None => {
                self.pending += frames;
                Ok(())
            }
        }
    }

    fn finish(self, promised: Option<u64>, ended: bool) -> Reasoned<Recording> {
        let Some((sample_rate, mixer)) = self.started else {
            return Err(match (self.damaged, promised) {
                (0, None | Some(0)) => "no samples: there is a header, but no audio after it".to_owned(),
                (0, Some(_)) => "cut off before the end of its first packet".to_owned(),
                (damaged, _) => format!("none of its {damaged} packets can be decoded: the file is damaged"),
            });
        };
        let seconds = |frames: u64| frames as f64 / f64::from(sample_rate);
        let found = mixer.frames() as u64;
        let promised = promised.filter(|&frames| frames > found);
        let mut notices = Vec::new();
        if promised.is_some() || !ended {
            notices.push(Notice::CutOff { promised_seconds: promised.map(seconds), found_seconds: seconds(found) });
        }
        if self.damaged > 0 {
            notices.push(Notice::Damaged { packets: self.damaged, seconds: seconds(self.silence) });
        }
        let (samples, mixed) = mixer.finish();
        notices.extend(mixed);
        Ok(Recording { samples, sample_rate, notices })
    }
}

fn changed() -> String {
    "its sample rate or channels change on the way: split it where they do".to_owned()
}
