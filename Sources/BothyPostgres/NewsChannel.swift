import BothyStore
import Foundation
import Synchronization

/// Sends the names of changed spaces between processes by PostgreSQL's LISTEN and NOTIFY, on a thread and a connection
/// of its own.
///
/// A notification is sent after its commit, because inside of the transaction it makes all commits of the database wait
/// for each other. Notifications may be lost with their process or connection. So the positions of the followed spaces
/// are looked at every few seconds and after each new connection. If the database refuses LISTEN or NOTIFY, these looks
/// are all there is.
final class NewsChannel: @unchecked Sendable {
  /// The number of failures in a row that are reported, after some seconds. A restart of a database is shorter.
  private static let reportedFailures = 10

  private let settings: SessionSettings
  /// The time between two looks.
  private let pause: Duration
  /// Guards the data that other threads use.
  private let state = Mutex(State())
  /// Woken by a byte. The thread waits for the connection's socket and for this.
  private let reading: Int32
  private let writing: Int32
  /// The last known positions of followed spaces, used by the thread alone.
  private var heads: [String: Int64] = [:]

  private struct State {
    var outgoing: [String: Int64] = [:]
    var isStarted = false
    var isClosed = false
    var isLooking = false
  }

  /// The calls that the thread makes.
  struct Listener: Sendable {
    /// Returns the spaces whose news matter.
    var followed: @Sendable () -> [String]
    var receive: @Sendable (String) -> Void
    /// Receives a sentence for the log.
    var report: @Sendable (String) -> Void
  }

  init(_ settings: SessionSettings, pause: Duration) {
    self.settings = settings
    self.pause = pause
    var ends: [Int32] = [-1, -1]
    // Without a pipe the thread wakes by itself after some seconds.
    if pipe(&ends) == 0 {
      for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    for end in [reading, writing] where end >= 0 { close(end) }
  }

  /// True if the database refused LISTEN or NOTIFY, so that news are found by looking.
  var isLooking: Bool { state.withLock { $0.isLooking } }

  /// Notifies the other processes soon.
  func tell(_ space: String, head: Int64) {
    let isFirst = state.withLock { state in
      guard state.isStarted else { return false }
      let isFirst = state.outgoing.isEmpty
      state.outgoing[space] = max(head, state.outgoing[space] ?? 0)
      return isFirst
    }
    if isFirst { wake() }
  }

  func finish() {
    state.withLock { $0.isClosed = true }
    wake()
  }

  private func wake() {
    var byte: UInt8 = 1
    _ = write(writing, &byte, 1)
  }

  func start(_ listener: Listener) {
    let isNew = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    guard isNew else { return }
    let thread = Thread { [self] in
      var failures = 0
      while !isClosed {
        do {
          try converse(listener) { failures = 0 }
        } catch {
          // Nothing is lost, because the next connection begins with a look at all positions.
          failures += 1
          if failures == Self.reportedFailures {
            listener.report(
              "Other processes' writes aren't noticed for now, as news have no connection. \(error)")
          }
          wait(for: -1, Backoff.database.delay(attempt: failures))
        }
      }
    }
    thread.name = "bothy news"
    thread.start()
  }

  private var isClosed: Bool { state.withLock { $0.isClosed } }

  private func converse(_ listener: Listener, connected: () -> Void) throws {
    let connection = try settings.open(by: .now + settings.patience)
    try unlessRefused(listener) {
      try connection.execute("LISTEN \(settings.schema.quotedIdentifier)")
    }
    connected()
    var nextLook = ContinuousClock.now
    while !isClosed {
      connection.end = .now + settings.patience
      if ContinuousClock.now >= nextLook {
        try look(listener, connection)
        nextLook = .now + pause
      }
      try send(listener, connection)
      for notification in try connection.takeNotifications()
      where notification.processID != connection.processID {
        hear(notification.payload, listener)
      }
      wait(for: connection.socket, ContinuousClock.now.duration(to: nextLook))
    }
  }

  /// Runs a statement, unless the database has refused one for good. That is reported once and isn't an error.
  private func unlessRefused(_ listener: Listener, _ body: () throws -> Void) throws {
    guard !isLooking else { return }
    do { try body() } catch let failure as PostgresFailure where failure.isLasting {
      state.withLock { $0.isLooking = true }
      listener.report(
        "The database has no LISTEN and NOTIFY, so other processes' writes are noticed within \(pause). \(failure)"
      )
    }
  }

  /// Sleeps until the socket or the pipe has data.
  private func wait(for socket: Int32, _ duration: Duration) {
    var sources = [
      pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = Int32(max(1, min(10_000, duration / .milliseconds(1))))
    _ = poll(&sources, 2, milliseconds)
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(reading, &bytes, bytes.count) > 0 {}
  }

  /// Sends all present notifications in one statement.
  private func send(_ listener: Listener, _ connection: PostgresConnection) throws {
    let outgoing = state.withLock { state in
      defer { state.outgoing = [:] }
      return state.outgoing
    }
    guard !outgoing.isEmpty else { return }
    for (space, head) in outgoing { note(space, head) }
    do {
      try unlessRefused(listener) {
        var notify = PostgresStatement("SELECT pg_notify($1, news) FROM unnest($2::text[]) AS news")
        notify.bind(settings.schema)
        notify.bind(outgoing.map { "\($0.value) \($0.key)" })
        _ = try connection.run(notify)
      }
    } catch let failure as PostgresFailure where failure.code != nil && failure.remedy == .none {
      // The queue of notifications may be full. Other processes find these writes by their next look.
    }
  }

  /// Receives a notification with the payload `<position> <space>`.
  private func hear(_ payload: String, _ listener: Listener) {
    let parts = payload.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let head = Int64(parts[0]) else { return }
    note(String(parts[1]), head)
    listener.receive(String(parts[1]))
  }

  private func note(_ space: String, _ head: Int64) {
    if let known = heads[space] { heads[space] = max(known, head) }
  }

  /// Reports the spaces whose position isn't the known one.
  private func look(_ listener: Listener, _ connection: PostgresConnection) throws {
    let spaces = listener.followed()
    guard !spaces.isEmpty else { return heads = [:] }
    var select = PostgresStatement(StorageSQL.heads)
    select.bind(spaces)
    let rows = try connection.run(select)
    var found: [String: Int64] = [:]
    for row in 0..<rows.count {
      guard let space = rows.text(row, 0) else { continue }
      let head = rows.int(row, 1)
      found[space] = head
      if heads[space] != head { listener.receive(space) }
    }
    heads = found
  }
}
