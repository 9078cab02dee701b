internal import BothyStore
public import Foundation
internal import Synchronization

/// A moment before which nothing counts as fresh; moving it takes effect at the next read, in every source that uses it.
public final class CutOff: Sendable {
  private let moment: Atomic<Int64>

  /// What came, or was made, before this date is stale.
  public init(_ date: Date) { moment = Atomic(Timestamp(date).milliseconds) }

  /// The moment as it stands, in whole milliseconds.
  public var date: Date { Timestamp(milliseconds: milliseconds).date }

  /// Moves the moment, in either direction.
  public func move(to date: Date) { moment.store(Timestamp(date).milliseconds, ordering: .releasing) }

  package var milliseconds: Int64 { moment.load(ordering: .acquiring) }
}
