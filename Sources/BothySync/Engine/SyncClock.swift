import BothyStore
import Foundation
import Synchronization

/// The device's clock, and an estimate of how far the server's is from it.
///
/// Each answer carries the server's time; the difference, less half the round trip, is a sample. The sample with
/// the shortest round trip of the last hour is used (rule R17). From then on the server's time is that of the sample
/// plus how long the machine has been running since: setting the device's clock changes nothing. After a restart of
/// the machine only the device's clock is left, and times are not reliable until the next sample.
public final class SyncClock: Sendable {
  private let device: @Sendable () -> Int64
  private let uptime: @Sendable () -> Uptime?
  private let wait: @Sendable (Duration) async throws -> Void
  private let estimate = Mutex<Estimate?>(nil)
  /// The estimate that the file has.
  private let saved = Mutex<Estimate?>(nil)

  package struct Estimate: Sendable, Hashable {
    package var offset: Int64
    package var roundTrip: Int64
    package var measuredAt: Int64
    /// How long the machine had been running when the sample was taken.
    package var uptime: Uptime?
  }

  /// A time by the server's clock.
  package struct Reading: Sendable, Hashable {
    package var time: Int64
    /// False when the machine was restarted since the server's clock was last heard of.
    package var isReliable: Bool
  }

  /// - Parameters:
  ///   - now: the device's clock, in milliseconds since 1970.
  ///   - uptime: how long the machine has been running; nil when that is not known, then the device's clock counts.
  ///   - sleep: waits for a time, for what is bounded by one; throws when its task is cancelled.
  public init(
    now: @escaping @Sendable () -> Int64, uptime: @escaping @Sendable () -> Uptime? = { nil },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    device = now
    self.uptime = uptime
    wait = sleep
  }

  /// The clock of this machine.
  public convenience init() {
    self.init(now: { Int64(Date().timeIntervalSince1970 * 1000) }, uptime: { Uptime.now() })
  }

  /// Milliseconds since 1970 by the device's own clock.
  public func now() -> Int64 { device() }

  /// The same corrected to the server's clock; uncorrected before the first answer.
  public func correctedNow() -> Int64 { reading().time }

  /// The same, and whether it can be relied on.
  package func reading() -> Reading {
    guard let estimate = estimate.withLock({ $0 }) else { return Reading(time: device(), isReliable: true) }
    guard let then = estimate.uptime, let now = uptime() else {
      return Reading(time: device() + estimate.offset, isReliable: estimate.uptime == nil)
    }
    guard now.boot == then.boot, now.milliseconds >= then.milliseconds else {
      return Reading(time: device() + estimate.offset, isReliable: false)
    }
    let passed = now.milliseconds - then.milliseconds
    return Reading(time: estimate.measuredAt + estimate.offset + passed, isReliable: true)
  }

  /// The milliseconds to add to the device's clock.
  public var offset: Int64 { estimate.withLock { $0 }?.offset ?? 0 }

  func sleep(for duration: Duration) async throws { try await wait(duration) }

  func restore(_ saved: Estimate) {
    estimate.withLock { $0 = saved }
    self.saved.withLock { $0 = saved }
  }

  /// The estimate, where the file has another one.
  var unsaved: Estimate? {
    guard let current = estimate.withLock({ $0 }), current != saved.withLock({ $0 }) else { return nil }
    return current
  }

  /// Whether edits after a relaunch would be dated by more than a second otherwise without the estimate, or could not
  /// be relied on: then it is worth a transaction of its own.
  var mustSave: Bool {
    guard let current = unsaved else { return false }
    guard let saved = saved.withLock({ $0 }) else { return true }
    return saved.uptime?.boot != current.uptime?.boot
      || saved.offset.subtractingClamped(current.offset).magnitude >= 1000
  }

  func noteSaved(_ estimate: Estimate) { saved.withLock { $0 = estimate } }

  /// Takes a sample; returns the estimate now in force if it changed.
  package func sample(serverTime: Int64, sentAt: Int64, receivedAt: Int64) -> Estimate? {
    let roundTrip = max(0, receivedAt - sentAt)
    let sample = Estimate(
      offset: serverTime - (sentAt + roundTrip / 2), roundTrip: roundTrip, measuredAt: receivedAt,
      uptime: uptime())
    return estimate.withLock { current in
      if let kept = current, kept.roundTrip < sample.roundTrip, let age = Self.age(of: kept, at: sample),
        (0..<3_600_000).contains(age)
      {
        return nil
      }
      let changed = current?.offset != sample.offset || current?.uptime?.boot != sample.uptime?.boot
      current = sample
      return changed ? sample : nil
    }
  }

  /// How long before another sample one was taken; nil when the machine was restarted in between, or its clock was
  /// set: then the older one says nothing of now.
  private static func age(of kept: Estimate, at sample: Estimate) -> Int64? {
    let byDevice = sample.measuredAt - kept.measuredAt
    guard let then = kept.uptime, let now = sample.uptime else { return byDevice }
    let passed = now.milliseconds - then.milliseconds
    return now.boot == then.boot && abs(passed - byDevice) < 1000 ? passed : nil
  }
}
