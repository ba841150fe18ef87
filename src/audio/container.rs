//! FLAC, Ogg Vorbis, MP3, AIFF and ADPCM in WAV, by symphonia, packet by packet.
//!
//! Symphonia is trusted with the formats, not with hostile bytes: a panic in it becomes an error here.

use std::io::{self, Cursor, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::codecs::CodecParameters;
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as SymphoniaError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;

use super::mixer::Mixer;
use super::sniff::Kind;
use super::{Channel, Notice, Reasoned, Recording, check_rate};

/// No packet of these formats is longer, whatever it claims.
const LONGEST_PACKET: u64 = 65_535;
/// What a sample cannot go beyond: what 16 bits hold.
const FULL_SCALE: f32 = 32767.0 / 32768.0;

/// Samples handed on at a time, at least.
const BLOCK: usize = 1 << 15;
/// No page of an Ogg stream is longer (RFC 3533: a header of 27 bytes, 255 segments with their sizes).
const LONGEST_PAGE: u64 = 27 + 255 + 255 * 255;

/// Decodes `bytes`, which are of `kind`.
///
/// # Errors
/// When they cannot be decoded at all, or from the start.
pub(super) fn decode(bytes: &[u8], kind: Kind, channel: Channel) -> Reasoned<Recording> {
    let mut packets = Packets::open(Cursor::new(bytes), kind, channel)?;
    let (sample_rate, mut samples) = (packets.sample_rate(), Vec::new());
    while let Some(mut block) = packets.next_block()? {
        samples.append(&mut block);
    }
    Ok(Recording { samples, sample_rate, notices: packets.finish().1 })
}

/// The samples of one recording, packet by packet.
pub(super) struct Packets<'s> {
    reader: Box<dyn FormatReader + 's>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    heard: Heard,
    /// Room for the channels of a packet.
    block: Vec<f32>,
    /// Frames that the header promises.
    promised: Option<u64>,
    progress: Progress,
    has_end_mark: bool,
}

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Underway,
    /// After the last packet.
    Ended,
    /// At a place from which nothing can be read.
    Lost,
}

impl<'s> Packets<'s> {
    /// Decodes to the first packet that can be decoded.
    ///
    /// # Errors
    /// When `source`, which is of `kind`, cannot be decoded at all, or from the start.
    pub(super) fn open(source: impl MediaSource + 's, kind: Kind, channel: Channel) -> Reasoned<Self> {
        guarded(|| Self::open_unguarded(source, kind, channel))
    }

    fn open_unguarded(mut source: impl MediaSource + 's, kind: Kind, channel: Channel) -> Reasoned<Self> {
        let has_end_mark = kind != Kind::Ogg || has_end_mark(&mut source).map_err(|cause| refused(&cause.into()))?;
        let stream = MediaSourceStream::new(Box::new(source), Default::default());
        let reader = symphonia::default::get_probe()
            .probe(&Hint::new(), stream, FormatOptions::default(), MetadataOptions::default())
            .map_err(|cause| refused(&cause))?;
        let track = reader.default_track(TrackType::Audio).ok_or("no audio in it")?;
        let Some(CodecParameters::Audio(parameters)) = &track.codec_params else {
            return Err("audio of an unknown codec".to_owned());
        };
        let decoder = symphonia::default::get_codecs()
            .make_audio_decoder(parameters, &AudioDecoderOptions::default())
            .map_err(|cause| refused(&cause))?;
        let heard = Heard { channel, started: None, pending: 0, damaged: 0, silence: 0 };
        let (track, promised, progress) = (track.id, promised_frames(track, kind), Progress::Underway);
        let mut packets = Self { reader, decoder, track, heard, block: vec![], promised, progress, has_end_mark };
        while packets.heard.started.is_none() && packets.progress == Progress::Underway {
            packets.step()?;
        }
        if packets.heard.started.is_some() { Ok(packets) } else { Err(packets.nothing()) }
    }

    /// Samples in a second of the recording.
    pub(super) fn sample_rate(&self) -> u32 {
        self.heard.started.as_ref().map_or(0, |started| started.0)
    }

    /// The next samples; nothing at the end.
    ///
    /// # Errors
    /// When rate or channels change, or a sample is no number.
    pub(super) fn next_block(&mut self) -> Reasoned<Option<Vec<f32>>> {
        guarded(|| {
            while self.progress == Progress::Underway && self.heard.waiting() < BLOCK {
                self.step()?;
            }
            let taken = self.heard.started.as_mut().map(|(_, mixer)| mixer.take());
            Ok(taken.filter(|samples| !samples.is_empty()))
        })
    }

    /// Decodes the next packet, if there is one.
    fn step(&mut self) -> Reasoned<()> {
        let packet = match self.reader.next_packet() {
            Ok(Some(packet)) if packet.track_id == self.track => packet,
            Ok(Some(_)) => return Ok(()),
            Ok(None) => {
                self.progress = Progress::Ended;
                return Ok(());
            }
            Err(SymphoniaError::ResetRequired) => return Err(changed()),
            // Within a file that has begun well, it is the end of what can be used.
            Err(_) if self.heard.started.is_some() => {
                self.progress = Progress::Lost;
                return Ok(());
            }
            Err(cause) => return Err(refused(&cause)),
        };
        match self.decoder.decode(&packet) {
            Ok(buffer) => self.heard.push(&buffer, &mut self.block),
            Err(SymphoniaError::DecodeError(_) | SymphoniaError::IoError(_)) => self.heard.push_damaged(&packet),
            Err(cause) => Err(refused(&cause)),
        }
    }

    /// Why there are no samples.
    fn nothing(&self) -> String {
        match (self.heard.damaged, self.promised) {
            (0, None | Some(0)) => "no samples: there is a header, but no audio after it".to_owned(),
            (0, Some(_)) => "cut off before the end of its first packet".to_owned(),
            (damaged, _) => format!("none of its {damaged} packets can be decoded: the file is damaged"),
        }
    }

    /// How many samples there were, and what is to be said about them.
    pub(super) fn finish(self) -> (usize, Vec<Notice>) {
        let Heard { started: Some((sample_rate, mixer)), damaged, silence, .. } = self.heard else {
            return (0, vec![]);
        };
        let seconds = |frames: u64| frames as f64 / f64::from(sample_rate);
        let found = mixer.frames() as u64;
        let promised = self.promised.filter(|&frames| frames > found);
        let mut notices = Vec::new();
        if promised.is_some() || self.progress == Progress::Lost || !self.has_end_mark {
            notices.push(Notice::CutOff { promised_seconds: promised.map(seconds), found_seconds: seconds(found) });
        }
        if damaged > 0 {
            notices.push(Notice::Damaged { packets: damaged, seconds: seconds(silence) });
        }
        notices.extend(mixer.finish().1);
        (found as usize, notices)
    }
}

/// Does the `work`, in which symphonia may panic.
fn guarded<T>(work: impl FnOnce() -> Reasoned<T>) -> Reasoned<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err("damaged in a way that the decoder cannot handle".to_owned()))
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

/// Whether the last page of an Ogg stream says that it is the last (RFC 3533, header type flag 0x04). Goes back to the begin.
fn has_end_mark(source: &mut impl MediaSource) -> io::Result<bool> {
    let length = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(length.saturating_sub(LONGEST_PAGE)))?;
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes)?;
    source.rewind()?;
    let last = bytes.windows(4).rposition(|window| window == b"OggS");
    Ok(last.and_then(|start| bytes.get(start + 5)).is_some_and(|flags| flags & 0x04 != 0))
}

/// What was decoded of one track.
struct Heard {
    channel: Channel,
    /// From the first packet that could be decoded on: rate and samples.
    started: Option<(u32, Mixer)>,
    /// Frames of damaged packets before that.
    pending: u64,
    damaged: usize,
    silence: u64,
}

impl Heard {
    /// Samples that were not taken yet.
    fn waiting(&self) -> usize {
        self.started.as_ref().map_or(0, |(_, mixer)| mixer.waiting())
    }

    fn push(&mut self, buffer: &GenericAudioBufferRef<'_>, block: &mut Vec<f32>) -> Reasoned<()> {
        let (rate, channels) = (buffer.spec().rate(), buffer.spec().channels().count());
        if self.started.is_none() {
            check_rate(rate)?;
            let mut mixer = Mixer::new(channels, self.channel, FULL_SCALE)?;
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
}

fn changed() -> String {
    "its sample rate or channels change on the way: split it where they do".to_owned()
}
