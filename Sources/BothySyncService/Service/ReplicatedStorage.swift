/// A storage that may answer reads from copies of its database.
package protocol ReplicatedStorage: Sendable {
  /// The states of the copies, in the order of their configuration.
  var replicas: [ReplicaState] { get }
}

/// The state of one copy of a database, for operators.
package struct ReplicaState: Sendable, Hashable {
  /// The reason why a copy isn't used, in words that any client may read.
  package enum Problem: String, Sendable, Hashable {
    case unchecked = "The copy was not looked at yet."
    case away = "The copy does not answer."
    case behind = "The copy is behind."
    case promoted = "The copy takes changes, as standbys don't."
    case unsuited = "The copy is of another database."
    case outdated = "The copy's tables have another version."
    case diverged = "The copy has another history than the database."
  }

  /// The ends of reads that were sent to a copy.
  package enum Ending: String, Sendable, Hashable, CaseIterable {
    /// The copy answered.
    case answered
    /// The copy lacked changes for longer than a read waits.
    case behind
    /// The copy had a change that readers of the database didn't see yet.
    case ahead
    /// The copy failed, or ended the read for the sake of its own replication.
    case failed
  }

  /// The reason why the copy isn't used; `nil` while it is.
  package var problem: Problem?
  /// The bytes of the log that the copy lacked at the last look.
  package var lagBytes: Int64 = 0
  /// The seconds for which the copy has lacked changes, or 0. Lags that are shorter than the time between two looks
  /// are 0 too.
  package var lagSeconds = 0.0
  /// The numbers of reads by their ends. All but the answered ones were answered by the database itself.
  package var reads: [Ending: Int64] = [:]

  /// - Parameter problem: `nil` for a copy that is used.
  package init(problem: Problem?) { self.problem = problem }
}
