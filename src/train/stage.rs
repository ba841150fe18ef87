//! A stretch of epochs towards one goal: each leaves a checkpoint to go on from and a row in the log.

use std::path::Path;
use std::time::{Duration, Instant};

use super::alignments::Alignments;
use super::config::impatient;
use super::hybrid::{Model, Run, Stage};
use super::log::{self, EpochRow};
use super::{Event, Progress, work};
use crate::learn::neural::{EpochReport, Example, Trainer};
use crate::network::Network;
use crate::{Error, Result, formats};

impl Run<'_> {
    /// All epochs of one stage.
    pub(super) fn stage(
        &self,
        mut stage: Stage<'_>,
        start: Network,
        alignments: &Alignments,
        progress: &mut Progress<'_>,
    ) -> Result<Model> {
        let training = self.examples(&self.corpus.training, (&stage, alignments), progress)?;
        let development = self.examples(&self.corpus.development, (&stage, alignments), progress)?;
        let path = self.work.join(&stage.file);
        let mut trainer = self.trainer(&mut stage, start, (&path, progress))?;
        while !trainer.is_done() {
            let clock = Instant::now();
            let report = trainer.epoch(&training, &development)?;
            tell_left_out(&report, progress);
            let model = Model { network: trainer.network()?, weights: trainer.weights(), scales: stage.scales };
            let percent = self.phone_error(model, alignments)?;
            judge(&mut trainer, (&stage, percent))?;
            let row = row(&stage.name, &report, (&development, percent, clock.elapsed()));
            log::record(self.work, row.clone())?;
            let left = clock.elapsed().mul_f64((report.of - report.epoch + stage.epochs_after) as f64);
            progress(Event::Epoch { row, of: report.of, left });
            // After the log, whose row is replaced when a kill in between has this epoch done again.
            let bytes = trainer.checkpoint()?;
            formats::atomic::write(&path, |file| file.write_all(&bytes))?;
        }
        if let Some((epoch, percent)) = trainer.best_epoch() {
            let (name, done) = (&stage.name, trainer.epochs_done());
            progress(Event::Note(format!(
                "{name} ends with epoch {done}: epoch {epoch} is kept, phone error {percent:.2} %"
            )));
        }
        let (network, weights) = trainer.finish()?;
        Ok(Model { network, weights, scales: stage.scales })
    }

    /// The trainer of a stage: as its checkpoint at `path` left it, or new.
    fn trainer(
        &self,
        stage: &mut Stage<'_>,
        start: Network,
        (path, progress): (&Path, &mut Progress<'_>),
    ) -> Result<Trainer> {
        let mut trainer = Trainer::new(start, stage.training.clone(), stage.seed)?.on(self.device);
        if let Some(goal) = stage.goal.take() {
            trainer = trainer.towards(goal)?;
        }
        if path.exists() {
            let bytes = crate::input::bytes(path)?;
            trainer.resume(&bytes).map_err(|error| Error::Config { path: path.into(), reason: error.to_string() })?;
            progress(Event::Resumed(format!("{}, {} epochs", stage.name, trainer.epochs_done())));
        } else {
            work::forget_from(&stage.file, self.config, self.work)?;
        }
        Ok(trainer)
    }
}

fn tell_left_out(report: &EpochReport, progress: &mut Progress<'_>) {
    for left in &report.left_out {
        progress(Event::Note(format!("left out of this epoch: {}: {}", left.utterances, left.reason)));
    }
}

/// Gives the trainer the phone error that early stopping decides on.
fn judge(trainer: &mut Trainer, (stage, percent): (&Stage<'_>, Option<f64>)) -> Result<()> {
    match percent {
        Some(percent) => trainer.judge(percent),
        None if stage.training.patience > 0 => return Err(impatient(stage.training)),
        None => {}
    }
    Ok(())
}

fn row(
    stage: &str,
    report: &EpochReport,
    (development, phone_error_percent, time): (&[Example<'_>], Option<f64>, Duration),
) -> EpochRow {
    let measured = |value: f64| (!development.is_empty()).then_some(value);
    EpochRow {
        stage: stage.to_owned(),
        epoch: report.epoch,
        learning_rate: report.learning_rate,
        loss: report.loss,
        frames_right_percent: 100.0 * report.accuracy,
        development_loss: measured(report.development_loss),
        development_frames_right_percent: measured(100.0 * report.development_accuracy),
        phone_error_percent,
        seconds: time.as_secs_f64(),
    }
}
