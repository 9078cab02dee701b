internal import Foundation
internal import GRDB

/// The time by which the processes of a device order what they read and change, in nanoseconds since 1970.
///
/// It is the time of the device's clock when the process began, plus the time that the machine has been running since.
/// So setting the clock changes nothing. Processes that began by different clocks convert their times to those of the
/// file, which its first opening in a run of the machine decides.
package struct DeviceTime: Sendable, Hashable {
  /// The id of the machine's run.
  let boot: String
  /// The time when that run began.
  package let start: Int64

  /// - Parameters:
  ///   - boot: the id of the machine's run.
  ///   - clock: the time of the device's clock, in nanoseconds since 1970.
  ///   - uptime: the nanoseconds since the machine started.
  package init(boot: String, clock: Int64, uptime: Int64) {
    self.boot = boot
    start = clock.subtractingClamped(uptime)
  }

  /// Reads the entry of a file's metadata. Nil for a text of another form.
  package init?(_ text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 2, let start = Int64(parts[1]) else { return nil }
    boot = String(parts[0])
    self.start = start
  }

  /// The entry of a file's metadata.
  package var text: String { "\(boot) \(start)" }

  /// Returns the time at an uptime.
  package func time(at uptime: Int64) -> Int64 { start.addingClamped(uptime) }

  /// Returns the time of a file that a process with this time opens.
  ///
  /// - Parameters:
  ///   - text: the entry of the file's metadata, or nil without one.
  ///   - latest: the latest time in the file. The times of a new run of the machine come after it.
  ///   - uptime: the nanoseconds since the machine started.
  package func ofFile(
    noting text: String?, latest: @autoclosure () throws -> Int64, at uptime: Int64
  ) rethrows -> DeviceTime {
    if let noted = text.flatMap({ DeviceTime($0) }), noted.boot == boot { return noted }
    return DeviceTime(boot: boot, clock: max(time(at: uptime), try latest()), uptime: uptime)
  }
}

extension DeviceTime {
  /// The time of this process.
  private static let own = DeviceTime(
    boot: Uptime.boot, clock: Int64(clampedWhole: Date().timeIntervalSince1970 * 1_000_000) &* 1000,
    uptime: Uptime.nanoseconds)

  /// Returns the present time, which is an even number and never falls.
  static func now() -> Int64 { own.time(at: Uptime.nanoseconds) & ~1 }

  private static let key = "time"

  /// Returns the nanoseconds by which the times of a file are ahead of those of this process. Called when the file is
  /// opened. Reads all pending changes at the first opening in a run of the machine.
  static func lead(in database: Database, _ recorder: any ChangeRecorder) throws -> Int64 {
    let noted = try Format.noted(key, in: database)
    let file = try own.ofFile(
      noting: noted, latest: latest(in: database, recorder), at: Uptime.nanoseconds)
    if file.text != noted { try Format.note(file.text, as: key, in: database) }
    return file.start.subtractingClamped(own.start)
  }

  private static func latest(in database: Database, _ recorder: any ChangeRecorder) throws -> Int64 {
    let pending = try recorder.latestTime(in: database)
    guard try database.tableExists(ReplacedFields.table) else { return pending }
    let ended = try Int64.fetchOne(database, sql: "SELECT max(noted) FROM \(ReplacedFields.table)")
    return max(pending, ended ?? 0)
  }
}
