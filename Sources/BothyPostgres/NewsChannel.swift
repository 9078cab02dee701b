import BothyStore
import Foundation
import Synchronization

/// Sends the names of changed spaces between processes by PostgreSQL's LISTEN and NOTIFY, on a thread and a connection
/// of its own.
///
/// A notification is sent after its commit, because inside of the transaction it makes all commits of the database wait
/// for each other. Notifications may be lost with their process or connection. So the positions of the followed spaces
/// are checked every few seconds and after each new connection.
final class NewsChannel: @unchecked Sendable {
  private static let pause = Duration.seconds(5)

  private let settings: SessionSettings
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
  }

  init(_ settings: SessionSettings) {
    self.settings = settings
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

  func start(followed: @escaping @Sendable () -> [String], receive: @escaping @Sendable (String) -> Void) {
    let isNew = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    guard isNew else { return }
    let thread = Thread { [self] in
      var backoff = Backoff()
      while !isClosed {
        do {
          try converse(followed, receive) { backoff = Backoff() }
        } catch {
          // Nothing is lost, because the next connection begins with a check of all positions.
          wait(for: -1, backoff.next())
        }
      }
    }
    thread.name = "bothy news"
    thread.start()
  }

  private var isClosed: Bool { state.withLock { $0.isClosed } }

  private func converse(
    _ followed: () -> [String], _ receive: (String) -> Void, connected: () -> Void
  ) throws {
    let connection = try settings.open()
    try connection.execute("LISTEN \(settings.schema.quotedIdentifier)")
    connected()
    var nextLook = ContinuousClock.now
    while !isClosed {
      if ContinuousClock.now >= nextLook {
        try look(followed(), receive, connection)
        nextLook = .now + Self.pause
      }
      try send(connection)
      for notification in try connection.takeNotifications()
      where notification.processID != connection.processID {
        hear(notification.payload, receive)
      }
      wait(for: connection.socket, ContinuousClock.now.duration(to: nextLook))
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
  private func send(_ connection: PostgresConnection) throws {
    let outgoing = state.withLock { state in
      defer { state.outgoing = [:] }
      return state.outgoing
    }
    guard !outgoing.isEmpty else { return }
    for (space, head) in outgoing { note(space, head) }
    var notify = PostgresStatement("SELECT pg_notify($1, news) FROM unnest($2::text[]) AS news")
    notify.bind(settings.schema)
    notify.bind(outgoing.map { "\($0.value) \($0.key)" })
    _ = try connection.run(notify)
  }

  /// Receives a notification with the payload `<position> <space>`.
  private func hear(_ payload: String, _ receive: (String) -> Void) {
    let parts = payload.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let head = Int64(parts[0]) else { return }
    note(String(parts[1]), head)
    receive(String(parts[1]))
  }

  private func note(_ space: String, _ head: Int64) {
    if let known = heads[space] { heads[space] = max(known, head) }
  }

  /// Calls `receive` for the spaces whose position isn't the known one.
  private func look(_ spaces: [String], _ receive: (String) -> Void, _ connection: PostgresConnection) throws
  {
    guard !spaces.isEmpty else { return heads = [:] }
    var select = PostgresStatement(LedgerSQL.heads)
    select.bind(spaces)
    let rows = try connection.run(select)
    var found: [String: Int64] = [:]
    for row in 0..<rows.count {
      guard let space = rows.text(row, 0) else { continue }
      let head = rows.int(row, 1)
      found[space] = head
      if heads[space] != head { receive(space) }
    }
    heads = found
  }
}
