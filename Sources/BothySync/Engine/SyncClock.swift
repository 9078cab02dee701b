import Foundation
import Synchronization

/// The device's clock, and an estimate of how far the server's is from it.
///
/// Each answer carries the server's time; the difference, less half the round trip, is a sample. The sample with
/// the shortest round trip of the last hour is used (rule R17).
public final class SyncClock: Sendable {
  private let device: @Sendable () -> Int64
  private let estimate = Mutex<Estimate?>(nil)

  package struct Estimate: Sendable, Hashable {
    package var offset: Int64
    package var roundTrip: Int64
    package var measuredAt: Int64
  }

  /// - Parameter now: the device's clock, in milliseconds since 1970.
  public init(now: @escaping @Sendable () -> Int64) { device = now }

  /// The clock of this machine.
  public convenience init() { self.init(now: { Int64(Date().timeIntervalSince1970 * 1000) }) }

  /// Milliseconds since 1970 by the device's own clock.
  public func now() -> Int64 { device() }

  /// The same corrected to the server's clock; uncorrected before the first answer.
  public func correctedNow() -> Int64 { device() + (estimate.withLock { $0 }?.offset ?? 0) }

  /// The milliseconds to add to the device's clock.
  public var offset: Int64 { estimate.withLock { $0 }?.offset ?? 0 }

  func restore(_ saved: Estimate) { estimate.withLock { $0 = saved } }

  /// Takes a sample; returns the estimate now in force if it changed.
  package func sample(serverTime: Int64, sentAt: Int64, receivedAt: Int64) -> Estimate? {
    let roundTrip = max(0, receivedAt - sentAt)
    let sample = Estimate(
      offset: serverTime - (sentAt + roundTrip / 2), roundTrip: roundTrip, measuredAt: receivedAt)
    return estimate.withLock { current in
      if let kept = current, kept.roundTrip < sample.roundTrip,
        (0..<3_600_000).contains(receivedAt - kept.measuredAt)
      {
        return nil
      }
      let changed = current?.offset != sample.offset
      current = sample
      return changed ? sample : nil
    }
  }
}
