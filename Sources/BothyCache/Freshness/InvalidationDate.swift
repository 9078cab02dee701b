internal import BothyStore
public import Foundation
internal import Synchronization

/// A time before which nothing counts as fresh. A change takes effect at the next read, in every source that uses it.
public final class InvalidationDate: Sendable {
  private let moment: Atomic<Int64>

  /// Creates the cut-off. Everything that came or was created before this date is stale.
  public init(_ date: Date) { moment = Atomic(Timestamp(date).milliseconds) }

  /// The current cut-off, in whole milliseconds.
  package var date: Date { Timestamp(milliseconds: milliseconds).date }

  /// Moves the cut-off, in either direction.
  public func move(to date: Date) { moment.store(Timestamp(date).milliseconds, ordering: .releasing) }

  package var milliseconds: Int64 { moment.load(ordering: .acquiring) }
}
