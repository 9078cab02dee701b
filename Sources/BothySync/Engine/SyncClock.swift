import BothyStore
import Foundation
import Synchronization

/// The device's clock, and an estimate of its difference from the server's clock.
///
/// Each answer has the server's time. Its difference from the device's, less half the round trip, is a sample. The
/// sample with the shortest round trip of the last hour is used. From then on the server's time is the sample's time
/// plus the time that the machine has been running since, so setting the device's clock changes nothing. After a
/// restart of the machine only the device's clock is left, and times are not reliable until the next sample.
package final class SyncClock: Sendable {
  private let device: @Sendable () -> Int64
  private let uptime: @Sendable () -> Uptime?
  private let wait: @Sendable (Duration) async throws -> Void
  private let estimate = Mutex<Estimate?>(nil)
  /// True if a sample was taken in this process.
  private let isLearned = Mutex(false)
  /// The estimate that the file has.
  private let saved = Mutex<Estimate?>(nil)

  package struct Estimate: Sendable, Hashable {
    package var offset: Int64
    package var roundTrip: Int64
    package var measuredAt: Int64
    /// The uptime of the machine when the sample was taken.
    package var uptime: Uptime?
  }

  /// A time by the server's clock.
  package struct Reading: Sendable, Hashable {
    package var time: Int64
    /// False if the machine was restarted since the last answer of the server.
    package var isReliable: Bool
  }

  /// Makes a clock from a function, for tests. The server's time is then the device's time and the known
  /// offset.
  ///
  /// - Parameters:
  ///   - now: the device's clock, in milliseconds since 1970.
  ///   - sleep: waits for a duration, to measure time limits. It throws if its task is cancelled.
  package convenience init(
    now: @escaping @Sendable () -> Int64,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.init(now: now, uptime: { nil }, sleep: sleep)
  }

  /// - Parameter uptime: the time that the machine has been running. If it is `nil`, the device's clock is used.
  package init(
    now: @escaping @Sendable () -> Int64, uptime: @escaping @Sendable () -> Uptime?,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    device = now
    self.uptime = uptime
    wait = sleep
  }

  /// The clock of this machine, which is the default of every store.
  ///
  /// Use one clock for each store, since it keeps the estimate of the server's clock.
  package convenience init() {
    self.init(now: { Int64(Date().timeIntervalSince1970 * 1000) }, uptime: { Uptime.now() })
  }

  /// Returns the milliseconds since 1970 by the device's own clock.
  package func now() -> Int64 { device() }

  /// Returns the time by the server's clock. Before the first answer it is the device's time.
  package func correctedNow() -> Int64 { reading().time }

  /// Returns the time by the server's clock, or `nil` before the first answer to this process.
  var learnedNow: Int64? { isLearned.withLock { $0 } ? correctedNow() : nil }

  /// Returns the time by the server's clock, and if it is reliable.
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
  package var offset: Int64 { estimate.withLock { $0 }?.offset ?? 0 }

  func sleep(for duration: Duration) async throws { try await wait(duration) }

  func restore(_ saved: Estimate) {
    estimate.withLock { $0 = saved }
    self.saved.withLock { $0 = saved }
  }

  /// The estimate, if the file has another one.
  var unsaved: Estimate? {
    guard let current = estimate.withLock({ $0 }), current != saved.withLock({ $0 }) else { return nil }
    return current
  }

  /// True if the estimate deserves a transaction of its own. Without it, edits after a relaunch have a date that is off
  /// by more than a second, or an unreliable one.
  var mustSave: Bool {
    guard let current = unsaved else { return false }
    guard let saved = saved.withLock({ $0 }) else { return true }
    return saved.uptime?.boot != current.uptime?.boot
      || saved.offset.subtractingClamped(current.offset).magnitude >= 1000
  }

  func noteSaved(_ estimate: Estimate) { saved.withLock { $0 = estimate } }

  /// The last time that counts as one, which is the end of the year 9999.
  private static let lastTime: Int64 = 253_402_300_799_999

  /// Takes a sample. Returns the new estimate if it changed. A time before 1970 or after 9999 is no sample.
  package func sample(serverTime: Int64, sentAt: Int64, receivedAt: Int64) -> Estimate? {
    guard (0...Self.lastTime).contains(serverTime) else { return nil }
    let roundTrip = max(0, receivedAt - sentAt)
    let sample = Estimate(
      offset: serverTime - (sentAt + roundTrip / 2), roundTrip: roundTrip, measuredAt: receivedAt,
      uptime: uptime())
    isLearned.withLock { $0 = true }
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

  /// Returns the time between two samples. Returns `nil` if the machine was restarted in between or its clock was set,
  /// because the older sample is then useless.
  private static func age(of kept: Estimate, at sample: Estimate) -> Int64? {
    let byDevice = sample.measuredAt - kept.measuredAt
    guard let then = kept.uptime, let now = sample.uptime else { return byDevice }
    let passed = now.milliseconds - then.milliseconds
    return now.boot == then.boot && abs(passed - byDevice) < 1000 ? passed : nil
  }
}
