internal import BothyStore
internal import Foundation
internal import Synchronization

/// The use of a store by running processes, and the check of pinned entries. It is due after a kill, and every month.
///
/// Each process has a shared lock on a file while the store is open. The system releases it when the process ends. SQLite
/// removes or empties its log when the last process closes the index. So a log with content that no process uses was
/// left by one that didn't close the store. Media lose bits too while no process runs, so a check is repeated.
///
/// The file has two numbers: that of the entry after which a check continues, until it is done, and the time at which the
/// last one ended. Earlier versions read the first alone, and begin a check where it is blank.
final class StoreUse: Sendable {
  private struct State {
    /// The open file, or `nil` if it was closed or can't be opened, as on a read-only disk.
    var descriptor: Int32?
    /// The number of the entry after which the check continues, or `nil` if none is due.
    var next: Int64?
    /// The time at which the last check ended, or the store was first seen, or `nil` if it isn't known.
    var endedAt: Int64?
    /// True if no process used the store when this use began.
    var isFirst = false
    /// The bytes that were checked since the number was stored.
    var unsaved: Int64 = 0
  }

  /// The number of digits and spaces of a stored number.
  private static let width = 20
  /// The milliseconds from the end of a check to the next one: 30 days.
  private static let interval: UInt64 = 30 * 86_400_000
  /// The bytes after which the number is stored.
  private static let savedAfter: Int64 = 32 << 20

  private let state: Mutex<State>

  /// Begins a use. Call it with the lock held, before the index is opened.
  /// - Parameters:
  ///   - path: the path of the file in an existing folder.
  ///   - log: the path of the index's log.
  init(_ path: String, log: String) {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      state = Mutex(State())
      return
    }
    var found = State(descriptor: file)
    if flock(file, LOCK_EX | LOCK_NB) == 0 {
      found.isFirst = true
      (found.next, found.endedAt) = Self.read(file)
      if found.next == nil, FileBytes.size(log) ?? 0 > 0 {
        found.next = .min
        Self.save(&found)
      }
    }
    flock(file, LOCK_SH | LOCK_NB)
    state = Mutex(found)
  }

  deinit { end() }

  /// The number of the entry after which the check continues, or `nil` if none is due.
  var next: Int64? { state.withLock { $0.next } }

  /// Returns true if a check is due at a time in milliseconds since 1970. A month after the last one, the first of
  /// several processes begins the next.
  ///
  /// A clock that was set back or forward by a month leads to a check too.
  func isDue(at now: Int64) -> Bool {
    state.withLock { state in
      guard state.next == nil, state.isFirst else { return state.next != nil }
      if let endedAt = state.endedAt {
        guard now.subtractingClamped(endedAt).magnitude >= Self.interval else { return false }
        state.next = .min
      } else {
        state.endedAt = now
      }
      Self.save(&state)
      return state.next != nil
    }
  }

  /// Notes that the entries up to a number were checked. `nil` ends the check, at a time in milliseconds since 1970.
  func advance(to number: Int64?, bytes: Int64 = 0, at now: Int64) {
    state.withLock { state in
      guard state.next != nil else { return }
      state.next = number
      if number == nil { state.endedAt = now }
      state.unsaved += bytes
      if number == nil || state.unsaved >= Self.savedAfter { Self.save(&state) }
    }
  }

  /// Ends the use, and stores how far the check has come.
  func end() {
    state.withLock { state in
      if state.unsaved > 0 { Self.save(&state) }
      if let file = state.descriptor { close(file) }
      state = State()
    }
  }

  /// Returns the stored numbers, `nil` for those that are blank. An unreadable number of an entry is the first one.
  private static func read(_ file: Int32) -> (next: Int64?, endedAt: Int64?) {
    var bytes = [UInt8](repeating: UInt8(ascii: " "), count: 2 * width)
    guard pread(file, &bytes, 2 * width, 0) > 0 else { return (nil, nil) }
    let texts = [bytes.prefix(width), bytes.suffix(width)].map { part in
      String(decoding: part, as: UTF8.self).split(separator: " ").first
    }
    return (texts[0].map { Int64($0) ?? .min }, texts[1].flatMap { Int64($0) })
  }

  /// Stores the numbers. If they can't be written, as on a full disk, the next check begins earlier.
  private static func save(_ state: inout State) {
    state.unsaved = 0
    guard let file = state.descriptor else { return }
    let bytes = [state.next, state.endedAt].flatMap { number -> [UInt8] in
      let digits = number.map { Array("\($0)".utf8) } ?? []
      return [UInt8](repeating: UInt8(ascii: " "), count: max(0, width - digits.count)) + digits
    }
    pwrite(file, bytes, bytes.count, 0)
  }
}
