extension SyncReport {
  /// Adds the results of one exchange. The sync itself sets `blocked`, `skipped` and `retryAfter`.
  mutating func add(_ exchange: SyncReport) {
    synced += exchange.synced
    failures += exchange.failures
    overwritten += exchange.overwritten
    leaving += exchange.leaving
    unreadable += exchange.unreadable
    pushed += exchange.pushed
    pulled += exchange.pulled
    repaired += exchange.repaired
    rebased += exchange.rebased.filter { !rebased.contains($0) }
    lost += exchange.lost
    givenBack += exchange.givenBack
  }

  /// Adds the results of a further round of one sync.
  mutating func append(_ further: SyncReport) {
    synced += further.synced
    failures =
      failures.filter { old in !further.synced.contains { $0.record == old.record } } + further.failures
    overwritten += further.overwritten
    leaving += further.leaving
    unreadable += further.unreadable
    blocked = further.blocked
    pushed += further.pushed
    pulled += further.pulled
    requests += further.requests
    uploadedBlobs += further.uploadedBlobs
    repaired += further.repaired
    rebased += further.rebased.filter { !rebased.contains($0) }
    lost += further.lost
    givenBack += further.givenBack
    stop = further.stop
    retryAfter = further.retryAfter
  }
}
