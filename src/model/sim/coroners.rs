//! The coroners of the simulated hosts: each outlives the process of its host, and certifies its death once nothing of
//! that runs any more.

use std::time::Duration;

use super::setup::TIMING;
use crate::core::death::{DeathCertificate, DeathHash, Secret};
use crate::core::planted::Fault;
use crate::core::random::Random;
use crate::core::types::{Incarnation, NodeId, Time};

/// The random numbers for coroners come from a sequence of their own; half of the runs have coroners, so that the others
/// stay as they are.
const CORONERS: u64 = 0x636f_726f_6e65_7273;

/// How soon a coroner answers a dial.
const SOON: Duration = Duration::from_millis(1);

/// How long the job of a dead process may go on, if its host has a coroner.
const JOB_ENDS: Duration = Duration::from_millis(100);

/// A coroner answers for so many leases, and then ends.
const LEASES: u32 = 16;

/// The coroners of a world.
#[derive(Debug)]
pub(super) struct SimulatedCoroners {
    random: Random,
    of: Vec<SimulatedCoroner>,
    /// Whether each certifies, and answers soon.
    sure: bool,
    /// What was ever certified, and since when.
    issued: Vec<(Time, DeathCertificate)>,
}

/// The coroner of the process that runs on a host, or ran there last.
#[derive(Clone, Copy, Debug, Default)]
struct SimulatedCoroner {
    /// The certificate for the process; none of a process without a coroner.
    certificate: Option<DeathCertificate>,
    /// Since when it answers whoever dials; none while the process runs, and of one that stays silent.
    answers: Option<Time>,
    /// It ended, and its process goes on.
    has_ended: bool,
    /// It took the place of one that knew of a job, and does not know of the guard of that.
    is_ignorant: bool,
}

/// What becomes of a process that died, and of all that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessEnd {
    /// Its guard ends its job within this time, and says that nothing is left.
    Clean(Duration),
    /// Its guard was killed with it: the job goes on.
    Unclean,
    /// Its coroner was killed with it.
    Uncertified,
}

/// How a certificate comes to the process that dialed.
#[derive(Clone, Copy, Debug)]
pub(super) enum CertificateWay {
    Once,
    /// And once more, so much later.
    Twice(Duration),
    /// The dial ends without it, and it comes so much later.
    Late(Duration),
}

impl SimulatedCoroners {
    /// Those of a run with this seed, if it has any.
    pub fn of_run(seed: u64, nodes: usize) -> Option<SimulatedCoroners> {
        let has = Random::new(seed ^ CORONERS).below(2) == 0;
        has.then(|| SimulatedCoroners::new(seed, nodes))
    }

    pub fn new(seed: u64, nodes: usize) -> SimulatedCoroners {
        let mut random = Random::new(seed ^ CORONERS);
        random.draw();
        let (of, issued) = (vec![SimulatedCoroner::default(); nodes], Vec::new());
        SimulatedCoroners { random, of, sure: false, issued }
    }

    /// Coroners that outlive each process, and answer soon.
    pub fn sure(seed: u64, nodes: usize) -> SimulatedCoroners {
        SimulatedCoroners { sure: true, ..SimulatedCoroners::new(seed, nodes) }
    }

    /// A process starts, with a coroner if its version knows that. Tells the hash of its secret, and the certificate of the
    /// process before, which that one's coroner hands over.
    pub fn begin(
        &mut self,
        node: usize,
        (member, incarnation): (NodeId, Incarnation),
        cluster: &str,
        knows: bool,
        now: Time,
    ) -> (Option<DeathHash>, Option<DeathCertificate>) {
        let mut secret = [0; 32];
        secret
            .chunks_mut(8)
            .for_each(|part| part.copy_from_slice(&self.random.draw().to_be_bytes()));
        let certificate = DeathCertificate { member, incarnation, secret: Secret(secret) };
        let before = self.of[node];
        let certificate_of = Some(certificate).filter(|_| knows);
        self.of[node] =
            SimulatedCoroner { certificate: certificate_of, ..SimulatedCoroner::default() };
        // The start waited until nothing of the job was left. A coroner that still waited for that has not handed over.
        let hands_over =
            before.answers.is_some() && knows && (self.sure || self.random.below(2) == 0);
        let buried = before.certificate.filter(|_| hands_over);
        if let Some(buried) = buried {
            self.issued.push((now, buried));
        }
        (knows.then(|| certificate.hash(cluster)), buried)
    }

    /// The coroner of a process that runs ends. Tells whether there was one.
    pub fn lose(&mut self, node: usize) -> bool {
        let coroner = &mut self.of[node];
        let ends = coroner.certificate.is_some() && !coroner.has_ended;
        coroner.has_ended |= ends;
        ends
    }

    /// After a turn of a process, whose job runs or not: another coroner takes the place of one that ended. Tells whether
    /// it does. (Z7)
    pub fn replace(&mut self, node: usize, job_runs: bool) -> bool {
        let coroner = &mut self.of[node];
        coroner.is_ignorant &= job_runs; // it knows of each job that begins from now on
        let may = !job_runs || Fault::ReplacedAmidJob.is_planted();
        let replaces = coroner.has_ended && may;
        if replaces {
            (coroner.has_ended, coroner.is_ignorant) = (false, job_runs);
        }
        replaces
    }

    /// A process was killed. Draws how it ends.
    pub fn draw_end(&mut self, node: usize, has_job: bool) -> ProcessEnd {
        let (draw, ends) = (self.random.below(8), self.random.up_to(JOB_ENDS));
        match draw {
            _ if self.of[node].certificate.is_none() => ProcessEnd::Uncertified,
            _ if self.of[node].has_ended => ProcessEnd::Uncertified,
            _ if self.sure => ProcessEnd::Clean(Duration::ZERO),
            0 => ProcessEnd::Uncertified,
            1 if has_job => ProcessEnd::Unclean,
            _ => ProcessEnd::Clean(ends),
        }
    }

    /// A process ended like this, and its job ends at this time. Tells whether its coroner certifies that.
    pub fn certify(&mut self, node: usize, end: ProcessEnd, (now, job_ends): (Time, Time)) -> bool {
        let early = Fault::CertificateEarly.is_planted() || self.of[node].is_ignorant;
        let ready = match end {
            ProcessEnd::Clean(_) if early => now,
            ProcessEnd::Clean(_) => now.max(job_ends) + self.random.up_to(SOON),
            ProcessEnd::Unclean if Fault::GuardUnheeded.is_planted() => now + SOON,
            ProcessEnd::Unclean | ProcessEnd::Uncertified => return false,
        };
        let coroner = &mut self.of[node];
        coroner.answers = Some(ready);
        self.issued.extend(coroner.certificate.map(|certificate| (ready, certificate)));
        true
    }

    /// A host is gone, and its coroner with it.
    pub fn vanish(&mut self, node: usize) -> ProcessEnd {
        self.of[node] = SimulatedCoroner::default();
        ProcessEnd::Uncertified
    }

    /// Whether the dials to this host, where no process runs, meet a coroner.
    pub fn listens(&self, node: usize, now: Time) -> bool {
        let answers = self.of[node].answers;
        answers.is_some_and(|since| now < since + TIMING.lease * LEASES)
    }

    /// The answer to a dial, and when it leaves.
    pub fn answer(&mut self, node: usize, now: Time) -> Option<(Time, DeathCertificate)> {
        let SimulatedCoroner { certificate, answers, .. } = self.of[node];
        let delay = self.random.up_to(SOON);
        Some((now.max(answers?) + delay, certificate?))
    }

    /// How the next certificate comes to a process.
    pub fn way(&mut self) -> CertificateWay {
        match self.random.below(8) {
            _ if self.sure => CertificateWay::Once,
            0 => CertificateWay::Late(self.random.up_to(TIMING.failure * 2)),
            1 => CertificateWay::Twice(self.random.up_to(TIMING.failure * 8)),
            _ => CertificateWay::Once,
        }
    }

    /// A certificate of any death so far.
    pub fn any(&mut self, now: Time) -> Option<DeathCertificate> {
        let known: Vec<_> = self.issued.iter().filter(|(since, _)| *since <= now).collect();
        let at = self.random.below(known.len() as u64) as usize;
        known.get(at).map(|(_, certificate)| *certificate)
    }

    /// One for this life of a member that nobody issued.
    pub fn forge(&mut self, member: NodeId, incarnation: Incarnation) -> DeathCertificate {
        let secret = Secret([self.random.draw() as u8; 32]);
        DeathCertificate { member, incarnation, secret }
    }

    /// Whether a coroner has certified this.
    pub fn issued(&self, now: Time, certificate: &DeathCertificate) -> bool {
        self.issued.iter().any(|(since, issued)| *since <= now && issued == certificate)
    }
}
