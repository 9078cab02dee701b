import BothyStore
import Foundation
import Synchronization

/// Carries the names of spaces with news between processes, by PostgreSQL's LISTEN and NOTIFY, on a thread and a
/// connection of its own.
///
/// A notice goes out after the commit that it tells of: inside the transaction it would make all commits of the database
/// wait for each other. One that is lost, with its process or its connection, is made up for by a look at the positions
/// of the spaces that are followed here, every few seconds and after each new connection.
final class NewsChannel: @unchecked Sendable {
  private static let pause = Duration.seconds(5)

  private let settings: SessionSettings
  /// Guards what others than the thread touch.
  private let state = Mutex(State())
  /// Woken by a byte: the thread waits for the connection's socket and for this.
  private let reading: Int32
  private let writing: Int32
  /// The last known positions of followed spaces; the thread's own.
  private var heads: [String: Int64] = [:]

  private struct State {
    var outgoing: [String: Int64] = [:]
    var isStarted = false
    var isClosed = false
  }

  init(_ settings: SessionSettings) {
    self.settings = settings
    var ends: [Int32] = [-1, -1]
    // Without a pipe the thread wakes by itself, some seconds later.
    if pipe(&ends) == 0 {
      for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    for end in [reading, writing] where end >= 0 { close(end) }
  }

  /// Tells the other processes, soon.
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
          // Nothing is lost: the next connection begins with a look at all positions.
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

  /// Sleeps until the socket or the pipe has something.
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

  /// All news of the moment in one statement.
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

  /// `<position> <space>`
  private func hear(_ payload: String, _ receive: (String) -> Void) {
    let parts = payload.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let head = Int64(parts[0]) else { return }
    note(String(parts[1]), head)
    receive(String(parts[1]))
  }

  private func note(_ space: String, _ head: Int64) {
    if let known = heads[space] { heads[space] = max(known, head) }
  }

  /// Receives for the spaces whose position is not the known one.
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
