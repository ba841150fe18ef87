//! Long short-term memory on a device: one product for all inputs before the recursion, steps over all utterances at once, and one
//! product for the gradient by each weight after it. The formulas are those of `reader` and `cells`; only the steps, as many as the
//! longest utterance has rows, are small.

use candle_core::{DType, Device, Result, Tensor};

use super::layout::Layout;
use super::{Found, Plain};
use crate::network::kernels::Mask;
use crate::network::reader::Reader;
use crate::network::recurrent::Recurrent;
use crate::network::timeline::{Direction, Step, Timeline};

/// What the backward of a recurrent layer needs of its forward.
pub(super) struct Unrolled {
    clock: Clock,
    /// What the layer reads `[places x inputs]`.
    input: Tensor,
    /// What of its output was dropped `[rows x outputs]`.
    mask: Option<Tensor>,
    /// Each direction.
    readings: Vec<Reading>,
}

/// The rows of a batch in the order of time: at each place a row, at each time the longest utterance first.
struct Clock {
    timeline: Timeline,
    /// The row at each place.
    rows: Tensor,
    /// The place of each row; after the last one for rows of no utterance.
    places: Tensor,
}

/// One direction, at each place.
struct Reading {
    /// i, f, g, o `[places x 4 H]`.
    gates: Tensor,
    /// c `[places x H]`.
    cells: Tensor,
    /// r `[places x R]`.
    output: Tensor,
    /// The place that was read last before each; after the last one for those that begin.
    before: Tensor,
}

/// The weights of a reader: W `[inputs x 4 H]`, U `[R x 4 H]`, b `[4 H]`, P `[H x R]`.
struct Weights {
    input: Tensor,
    feedback: Tensor,
    bias: Tensor,
    projection: Option<Tensor>,
}

impl Clock {
    fn new(layout: &Layout, device: &Device) -> Result<Self> {
        let timeline = Timeline::new(layout.segments());
        let own: Vec<usize> = layout.places().collect();
        let rows: Vec<usize> = timeline.rows().iter().map(|&row| own[row]).collect();
        let mut places = vec![rows.len(); layout.rows()];
        rows.iter().enumerate().for_each(|(place, &row)| places[row] = place);
        Ok(Self { timeline, rows: numbers(&rows, device)?, places: numbers(&places, device)? })
    }

    /// The rows of x in the order of time.
    fn in_time(&self, x: &Tensor) -> Result<Tensor> {
        x.index_select(&self.rows, 0)
    }

    /// Those of x, which are in the order of time, back in their places; zeros in rows of no utterance.
    fn in_rows(&self, x: &Tensor) -> Result<Tensor> {
        taken(x, &self.places)
    }

    /// The place that was read last before each.
    fn before(&self, direction: Direction, device: &Device) -> Result<Tensor> {
        let mut before = vec![self.timeline.rows().len(); self.timeline.rows().len()];
        for Step { now, past } in self.timeline.steps(direction) {
            now.zip(past).for_each(|(now, past)| before[now] = past);
        }
        numbers(&before, device)
    }
}

impl Plain<'_> {
    /// The output of `recurrent` on rows of `seen`, which lie so, and dropped by the mask.
    pub(super) fn read(
        &self,
        recurrent: &Recurrent,
        (seen, layout): (&Tensor, &Layout),
        mask: Option<&Mask>,
    ) -> Result<(Tensor, Unrolled)> {
        let clock = Clock::new(layout, self.device)?;
        let input = clock.in_time(seen)?;
        let reading = |reader: &Reader| self.reading(reader, &input, &clock);
        let readings = recurrent.readers().iter().map(reading).collect::<Result<Vec<_>>>()?;
        let outputs: Vec<&Tensor> = readings.iter().map(|reading| &reading.output).collect();
        let y = clock.in_rows(&Tensor::cat(&outputs, 1)?)?;
        let mask = mask.map(|mask| self.mask(mask, (layout, recurrent.outputs()))).transpose()?;
        let y = dropped(&y, mask.as_ref())?;
        Ok((y, Unrolled { clock, input, mask, readings }))
    }

    /// The gradient by what was seen, from that by the output; those by the weights are kept.
    pub(super) fn read_back(
        &self,
        recurrent: &Recurrent,
        (unrolled, gradient): (&Unrolled, &Tensor),
        found: &mut Found,
    ) -> Result<Tensor> {
        let Unrolled { clock, input, mask, readings } = unrolled;
        let gradient = clock.in_time(&dropped(gradient, mask.as_ref())?)?;
        let (mut by_input, mut first) = (input.zeros_like()?, 0);
        for (reader, reading) in recurrent.readers().iter().zip(readings) {
            let by_output = gradient.narrow(1, first, reader.outputs())?;
            let by_z = self.through_time(reader, (reading, &by_output), (&clock.timeline, found))?;
            by_input = (by_input + self.weighed(reader, (input, reading, &by_z), found)?)?;
            first += reader.outputs();
        }
        clock.in_rows(&by_input)
    }

    fn weights(&self, reader: &Reader) -> Result<Weights> {
        let parameter = |place: usize| self.parameters[place].as_detached_tensor();
        let ([bias, weight], outputs) = (reader.gates.places, reader.outputs());
        let weight = parameter(weight);
        let inputs = weight.dim(0)? - outputs;
        Ok(Weights {
            input: weight.narrow(0, 0, inputs)?,
            feedback: weight.narrow(0, inputs, outputs)?,
            bias: parameter(bias),
            projection: reader.projection.as_ref().map(|projection| parameter(projection.place[0])),
        })
    }

    /// z\[t\] = x\[t\] W + r\[t-1\] U + b; i, f, o are sigmoids and g the hyperbolic tangent of their quarters of z;
    /// c\[t\] = f c\[t-1\] + i g; h\[t\] = o tanh(c\[t\]); r\[t\] = h\[t\] P, or h\[t\].
    fn reading(&self, reader: &Reader, input: &Tensor, clock: &Clock) -> Result<Reading> {
        let Weights { input: weight, feedback, bias, projection } = self.weights(reader)?;
        let z = input.matmul(&weight)?.broadcast_add(&bias)?;
        let (width, steps) = (z.dim(1)? / 4, clock.timeline.steps(reader.direction));
        // sigmoid(z) = tanh(z / 2) / 2 + 1 / 2: all four gates are one function.
        let half = self.by_gate([0.5, 0.5, 1.0, 0.5], width)?;
        let up = self.by_gate([0.5, 0.5, 0.0, 0.5], width)?;
        let (mut r, mut c) = (self.zeros(1, reader.outputs())?, self.zeros(1, width)?);
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        for Step { now, .. } in &steps {
            let z = (z.narrow(0, now.start, now.len())? + lanes(&r.matmul(&feedback)?, now.len())?)?;
            let gates = z.broadcast_mul(&half)?.tanh()?.broadcast_mul(&half)?.broadcast_add(&up)?;
            let gate = |number: usize| gates.narrow(1, number * width, width);
            c = ((gate(1)? * lanes(&c, now.len())?)? + (gate(0)? * gate(2)?)?)?;
            r = projected((gate(3)? * c.tanh()?)?, projection.as_ref())?;
            all.iter_mut().zip([&gates, &c, &r]).for_each(|(all, one)| all.push(one.clone()));
        }
        let [gates, cells, output] = all.map(|all| in_order(all, reader.direction));
        let before = clock.before(reader.direction, self.device)?;
        Ok(Reading { gates: gates?, cells: cells?, output: output?, before })
    }

    /// dL/dz by back-propagation through time, from dL/dr by what is above; dL/dP is kept.
    ///
    /// ```text
    /// dr[t] = dL/dr[t] + dz[t+1] U'      dh = dr P', or dr      dc[t] = dh o (1 - tanh(c)^2) + f[t+1] dc[t+1]
    /// dz = (dc g, dc c[t-1], dc i, dh tanh(c)) times the slopes of i, f, g, o: s (1 - s), and 1 - g^2
    /// ```
    fn through_time(
        &self,
        reader: &Reader,
        (reading, by_output): (&Reading, &Tensor),
        (timeline, found): (&Timeline, &mut Found),
    ) -> Result<Tensor> {
        let Weights { feedback, projection, .. } = self.weights(reader)?;
        let (feedback, back) = (feedback.t()?, projection.as_ref().map(Tensor::t).transpose()?);
        let (gates, width) = (&reading.gates, reading.cells.dim(1)?);
        let [i, f, g, o] = [0, 1, 2, 3].map(|gate| gates.narrow(1, gate * width, width));
        let (i, f, g, o, top) = (i?, f?, g?, o?, reading.cells.tanh()?);
        let past = taken(&reading.cells, &reading.before)?;
        let slopes = gates.broadcast_mul(&self.by_gate([1.0, 1.0, 0.0, 1.0], width)?)?;
        let slopes = (slopes.broadcast_add(&self.by_gate([0.0, 0.0, 1.0, 0.0], width)?)? - gates.sqr()?)?;
        let factors = (Tensor::cat(&[&g, &past, &i, &top], 1)? * slopes)?;
        let through = (&o * top.sqr()?.affine(-1.0, 1.0)?)?;

        let (mut fed_back, mut by_c) = (self.zeros(1, reader.outputs())?, self.zeros(1, width)?);
        let mut all = [Vec::new(), Vec::new()];
        for Step { now, .. } in timeline.steps(reader.direction).iter().rev() {
            let (first, count) = (now.start, now.len());
            let by_r = (by_output.narrow(0, first, count)? + lanes(&fed_back, count)?)?;
            let by_h = projected(by_r.clone(), back.as_ref())?;
            by_c = ((&by_h * through.narrow(0, first, count)?)? + lanes(&by_c, count)?)?;
            let by_z = (Tensor::cat(&[&by_c, &by_c, &by_c, &by_h], 1)? * factors.narrow(0, first, count)?)?;
            by_c = (by_c * f.narrow(0, first, count)?)?;
            fed_back = by_z.matmul(&feedback)?;
            all.iter_mut().zip([by_z, by_r]).for_each(|(all, one)| all.push(one));
        }
        let [by_z, by_r] = all.map(|all| in_order(all.into_iter().rev().collect(), reader.direction));
        if let Some(projection) = &reader.projection {
            found[projection.place[0]] = Some((o * top)?.t()?.matmul(&by_r?)?);
        }
        by_z
    }

    /// dL/dx = dz W' from dz; dL/dW = x' dz, dL/dU = r\[t-1\]' dz and dL/db are kept.
    fn weighed(
        &self,
        reader: &Reader,
        (input, reading, by_z): (&Tensor, &Reading, &Tensor),
        found: &mut Found,
    ) -> Result<Tensor> {
        let [bias, weight] = reader.gates.places;
        let before = taken(&reading.output, &reading.before)?;
        found[bias] = Some(by_z.sum(0)?);
        found[weight] = Some(Tensor::cat(&[input.t()?.matmul(by_z)?, before.t()?.matmul(by_z)?], 0)?);
        by_z.matmul(&self.weights(reader)?.input.t()?)
    }

    /// One number for each of the gates i, f, g, o, at each of their cells `[1 x 4 H]`.
    fn by_gate(&self, numbers: [f32; 4], width: usize) -> Result<Tensor> {
        let values: Vec<f32> = numbers.iter().flat_map(|&number| std::iter::repeat_n(number, width)).collect();
        Tensor::from_vec(values, (1, 4 * width), self.device)
    }

    fn zeros(&self, rows: usize, cols: usize) -> Result<Tensor> {
        Tensor::zeros((rows, cols), DType::F32, self.device)
    }
}

fn numbers(values: &[usize], device: &Device) -> Result<Tensor> {
    let values: Vec<u32> = values.iter().map(|&value| value as u32).collect();
    Tensor::new(values, device)
}

/// The rows of x at these places, zeros for the place after its last.
fn taken(x: &Tensor, places: &Tensor) -> Result<Tensor> {
    x.pad_with_zeros(0, 0, 1)?.index_select(places, 0)
}

/// The first `count` lanes of a step's rows; zeros for lanes that it does not have.
fn lanes(rows: &Tensor, count: usize) -> Result<Tensor> {
    let have = rows.dim(0)?;
    if have < count { rows.pad_with_zeros(0, 0, count - have) } else { rows.narrow(0, 0, count) }
}

/// x P, or x.
fn projected(x: Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    weight.map_or(Ok(x.clone()), |weight| x.matmul(weight))
}

fn dropped(x: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    mask.map_or(Ok(x.clone()), |mask| x * mask)
}

/// Rows of all steps, which come in the order of reading, in the order of time.
fn in_order(mut steps: Vec<Tensor>, direction: Direction) -> Result<Tensor> {
    if direction == Direction::Backward {
        steps.reverse();
    }
    Tensor::cat(&steps, 0)
}
