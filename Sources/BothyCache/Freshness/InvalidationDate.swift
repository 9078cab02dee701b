internal import BothyStore
public import Foundation
internal import Synchronization

/// A time before which nothing counts as fresh. A change takes effect at the next read, in every source that uses it.
///
/// ```swift
/// let cutOff = InvalidationDate(.distantPast)
/// let rule = FreshnessRule.notBefore(cutOff)
/// cutOff.move(to: Date())  // all that is stored by now is stale
/// ```
///
/// It isn't stored. An app that moves it saves the date itself. Reads and moves are atomic and wait for nothing.
public final class InvalidationDate: Sendable {
  private let moment: Atomic<Int64>

  /// Creates the cut-off. Everything that came or was created before this date is stale.
  ///
  /// Counts in whole milliseconds. An entry of exactly this time is fresh.
  public init(_ date: Date) { moment = Atomic(Timestamp(date).milliseconds) }

  /// The current cut-off, in whole milliseconds.
  package var date: Date { Timestamp(milliseconds: milliseconds).date }

  /// Moves the cut-off, in either direction.
  ///
  /// May be called from any thread. It deletes nothing, so moving it back makes entries fresh again. It sends no
  /// request.
  public func move(to date: Date) { moment.store(Timestamp(date).milliseconds, ordering: .releasing) }

  package var milliseconds: Int64 { moment.load(ordering: .acquiring) }
}
