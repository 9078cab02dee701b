internal import BothyStore
internal import Foundation
internal import Synchronization

/// The use of a store by running processes, and the check of pinned entries that is due after one of them was killed.
///
/// Each process has a shared lock on a file while the store is open. The system releases it when the process ends. SQLite
/// removes or empties its log when the last process closes the index. So a log with content that no process uses was
/// left by one that didn't close the store. Until the check is done, the file has the number of the entry after which
/// it continues.
final class StoreUse: Sendable {
  private struct State {
    /// The open file, or `nil` if it was closed or can't be opened, as on a read-only disk.
    var descriptor: Int32?
    /// The number of the entry after which the check continues, or `nil` if none is due.
    var next: Int64?
    /// The bytes that were checked since the number was stored.
    var unsaved: Int64 = 0
  }

  /// The number of digits and spaces of a stored number.
  private static let width = 20
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
      found.next = Self.read(file)
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

  /// Notes that the entries up to a number were checked. `nil` ends the check.
  func advance(to number: Int64?, bytes: Int64 = 0) {
    state.withLock { state in
      guard state.next != nil else { return }
      state.next = number
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

  /// Returns the stored number, or `nil` without one. An unreadable number is the first one.
  private static func read(_ file: Int32) -> Int64? {
    var bytes = [UInt8](repeating: 0, count: width)
    let count = pread(file, &bytes, width, 0)
    guard count > 0 else { return nil }
    let text = String(decoding: bytes.prefix(count), as: UTF8.self)
    return text.split(separator: " ").first.flatMap { Int64($0) } ?? .min
  }

  /// Stores the number. If it can't be written, as on a full disk, the next check begins earlier.
  private static func save(_ state: inout State) {
    state.unsaved = 0
    guard let file = state.descriptor else { return }
    guard let next = state.next else {
      ftruncate(file, 0)
      return
    }
    let digits = Array("\(next)".utf8)
    let bytes = [UInt8](repeating: UInt8(ascii: " "), count: max(0, width - digits.count)) + digits
    pwrite(file, bytes, bytes.count, 0)
  }
}
