import BothyStore

/// The result of one write, as the server decided it.
///
/// ```swift
/// let result = try await store.save(booking).result(within: .seconds(10))
/// if let mine = result.overwritten { show("Replaced by others. Yours had \(mine.beds) beds.") }
/// ```
public struct SaveResult<Value: Sendable>: Sendable {
  /// The record as it is here now, or `nil` if it is deleted.
  public var record: Value?
  /// The source of the record's content.
  public var origin: Origin
  /// The decision of the server.
  public var verdict: Verdict
  /// The local content that the verdict replaced, or `nil`.
  public var overwritten: Value?

  /// The source of a record's content.
  public enum Origin: Sendable, Hashable {
    /// This device alone: the write was rejected, or the record was changed again.
    case local
    /// The server, which has the same content.
    case remote
    /// A merge of both sides, which both have.
    case merged
  }
}

extension BothyError {
  /// The error for a write without a verdict.
  init(undecided outcome: SaveOutcome, _ record: RecordID) {
    switch outcome {
    case .draft:
      self.init(
        .pendingChanges, "\(record) is a draft, which is not sent before outbox.release.", record: record)
    case .withdrawn:
      self.init(
        .withdrawn, "The change of \(record) was undone on this device before the server decided.",
        record: record)
    case .pending, .accepted, .merged, .overwritten, .rejected:
      self.init(
        .pendingChanges,
        "\(record) is still pending: a record that it refers to, or was written with, was not sent. "
          + "The outbox says what waits for what, and why.", record: record)
    case .expired, .unknown:
      self.init(
        .expired,
        "The journal no longer has the verdict on \(record). Raise SyncOptions.journal to keep more.",
        record: record)
    }
  }
}
