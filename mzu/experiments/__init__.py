"""The paper's claims at classroom scale (`mzu reproduce`): short definitions over one Trainer, statistics, verdicts."""
