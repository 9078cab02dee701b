import CPostgres
import Foundation

/// One session with PostgreSQL through libpq, with prepared statements and several statements in one round trip.
///
/// A connection belongs to one thread, which waits for each answer until a time limit. Every method throws
/// `PostgresFailure`. After one with the remedy `.reconnect` the connection is useless.
final class PostgresConnection {
  private let handle: OpaquePointer
  /// The names of prepared statements by their SQL.
  private var names: [String: String] = [:]
  private let trace: (@Sendable (String) -> Void)?
  private let notices = PostgresNotices()
  /// The time by which answers must arrive. A call that begins later waits for `grace`.
  var end: ContinuousClock.Instant
  /// The time that each call waits at least.
  var grace = Duration.seconds(1)
  /// True if the connection is useless.
  private(set) var isLost = false

  /// The settings of every session, which an address may override. A silent network is given up after half a minute
  /// instead of hours.
  private static let defaults = [
    ("application_name", "bothy"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
    ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
  ]

  /// Connects. `address` is a URL or a connection string of libpq. Several hosts are tried in order, each for two to
  /// five seconds, as `end` allows. `target` chooses among them, in libpq's words, unless the address does.
  init(
    to address: String, target: String = "read-write", by end: ContinuousClock.Instant = .now + .seconds(60),
    trace: (@Sendable (String) -> Void)? = nil
  ) throws(PostgresFailure) {
    let left = ContinuousClock.now.duration(to: end) / .seconds(1)
    guard let connection = Self.open(address, target, seconds: Int(max(2, min(5, left)))) else {
      throw PostgresFailure(message: "Out of memory.")
    }
    guard PQstatus(connection) == CONNECTION_OK, PQsetnonblocking(connection, 1) == 0 else {
      let message = Self.message(connection)
      PQfinish(connection)
      throw PostgresFailure(message: message)
    }
    handle = connection
    self.end = end
    self.trace = trace
    notices.receive(from: handle)
  }

  deinit { PQfinish(handle) }

  private static func open(_ address: String, _ target: String, seconds: Int) -> OpaquePointer? {
    let settings =
      defaults + [
        ("target_session_attrs", target), ("connect_timeout", "\(seconds)"), ("client_encoding", "UTF8"),
        ("dbname", address),
      ]
    var keywords: [UnsafePointer<CChar>?] = settings.map { UnsafePointer(strdup($0.0)) }
    var values: [UnsafePointer<CChar>?] = settings.map { UnsafePointer(strdup($0.1)) }
    defer { for text in keywords + values { free(UnsafeMutablePointer(mutating: text)) } }
    keywords.append(nil)
    values.append(nil)
    return PQconnectdbParams(keywords, values, 1)
  }

  var socket: Int32 { PQsocket(handle) }
  var processID: Int32 { PQbackendPID(handle) }
  var serverEncoding: String {
    PQparameterStatus(handle, "server_encoding").map { String(cString: $0) } ?? ""
  }
  var isInTransaction: Bool { PQtransactionStatus(handle) != PQTRANS_IDLE }

  /// Runs statements without parameters, in one transaction unless they contain others. Throws
  /// `PostgresFailure.unreplicated` if a commit among them no longer waits for its standby.
  func execute(_ sql: String) throws(PostgresFailure) {
    let end = callEnd
    guard PQsendQuery(handle, sql) == 1 else { throw lost() }
    try flush(by: end)
    var refused: PostgresResult?
    do throws(PostgresFailure) {
      while let result = try receive(by: end) {
        let answer = PostgresResult(owning: result)
        switch answer.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: continue
        default: if refused == nil { refused = answer }
        }
      }
    } catch {
      if let refused { throw refusal(refused) }
      throw error
    }
    if let refused { throw refusal(refused) }
    try notices.check()
  }

  func run(_ statement: PostgresStatement) throws(PostgresFailure) -> PostgresResult {
    guard let result = try run([statement]).last else { throw lost() }
    return result
  }

  /// Runs statements in order and in one round trip. The statements after a failed one aren't run, and its error is
  /// thrown. Throws `PostgresFailure.unreplicated` like `execute`.
  func run(_ statements: [PostgresStatement]) throws(PostgresFailure) -> [PostgresResult] {
    let end = callEnd
    guard PQenterPipelineMode(handle) == 1 else { throw lost() }
    var prepared: [String?] = []
    for statement in statements { prepared.append(try send(statement, after: prepared)) }
    guard PQpipelineSync(handle) == 1 else { throw lost() }
    try flush(by: end)
    var results: [PostgresResult] = []
    var refused: PostgresResult?
    do throws(PostgresFailure) {
      for (statement, name) in zip(statements, prepared) {
        if let name {
          let answer = try next(by: end)
          if answer.status == PGRES_COMMAND_OK {
            names[statement.sql] = name
          } else if refused == nil {
            refused = answer
          }
        }
        let answer = try next(by: end)
        switch answer.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: results.append(answer)
        default: if refused == nil { refused = answer }
        }
      }
      // The end of the pipeline; nothing follows it.
      guard let last = try receive(by: end) else { throw lost() }
      let isEnd = PQresultStatus(last) == PGRES_PIPELINE_SYNC
      PQclear(last)
      guard isEnd, PQexitPipelineMode(handle) == 1 else { throw lost() }
    } catch {
      // The server's own reason for closing the connection says more than its loss.
      if let refused { throw refusal(refused) }
      throw error
    }
    if let refused { throw refusal(refused) }
    try notices.check()
    return results
  }

  /// Sends a statement, and before it a request to prepare it, if it is kept and new. `earlier` has the names that are
  /// being prepared. Returns the new name.
  private func send(
    _ statement: PostgresStatement, after earlier: [String?]
  ) throws(PostgresFailure) -> String? {
    trace?(statement.sql)
    var newName: String?
    let name = statement.isKept ? names[statement.sql] ?? statement.name : nil
    if let name, names[statement.sql] == nil, !earlier.contains(name) {
      let sent = PQsendPrepare(
        handle, name, statement.sql, Int32(statement.parameterCount), statement.types)
      guard sent == 1 else { throw lost() }
      newName = name
    }
    let sent: Int32 = statement.bytes.withUnsafeBytes { bytes in
      guard let start = bytes.bindMemory(to: CChar.self).baseAddress else { return 0 }
      let values = statement.ranges.map { range in range.map { start + $0.lowerBound } }
      let lengths = statement.ranges.map { Int32($0?.count ?? 0) }
      let formats = [Int32](repeating: 1, count: statement.parameterCount)
      let count = Int32(statement.parameterCount)
      return if let name {
        PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
      } else {
        PQsendQueryParams(handle, statement.sql, count, statement.types, values, lengths, formats, 1)
      }
    }
    guard sent == 1 else { throw lost() }
    return newName
  }

  /// Returns the result of the next command, and reads the null after it.
  private func next(by end: ContinuousClock.Instant) throws(PostgresFailure) -> PostgresResult {
    guard let result = try receive(by: end) else { throw lost() }
    let answer = PostgresResult(owning: result)
    if answer.status == PGRES_PIPELINE_SYNC { throw lost() }
    while let more = try receive(by: end) { PQclear(more) }
    if PQstatus(handle) != CONNECTION_OK {
      throw answer.status == PGRES_FATAL_ERROR ? refusal(answer) : lost()
    }
    return answer
  }

  private func refusal(_ result: PostgresResult) -> PostgresFailure {
    var failure = result.failure
    // The server's message before it closed the connection is kept. A message of libpq itself has no code.
    if isLost || PQstatus(handle) != CONNECTION_OK, failure.remedy == .none { failure.code = nil }
    return failure
  }

  private func lost() -> PostgresFailure {
    isLost = true
    let message = Self.message(handle)
    return PostgresFailure(message: message.isEmpty ? "The connection was lost." : message)
  }

  private static func message(_ connection: OpaquePointer) -> String {
    PQerrorMessage(connection).map { String(cString: $0).trimmingNewlines } ?? ""
  }
}

/// The waits for the socket. Nothing else waits, because libpq is told not to.
extension PostgresConnection {
  /// The time limit of a call that begins now.
  private var callEnd: ContinuousClock.Instant { max(end, .now + grace) }

  /// Sends all that libpq holds back, and takes answers meanwhile, so that neither side waits for the other.
  private func flush(by end: ContinuousClock.Instant) throws(PostgresFailure) {
    while true {
      switch PQflush(handle) {
      case 0: return
      case 1: try wait(for: POLLIN | POLLOUT, by: end)
      default: throw lost()
      }
    }
  }

  /// Returns the next result, or `nil` at the end of a command's results.
  private func receive(by end: ContinuousClock.Instant) throws(PostgresFailure) -> OpaquePointer? {
    while PQisBusy(handle) == 1 { try wait(for: POLLIN, by: end) }
    return PQgetResult(handle)
  }

  /// Waits until the socket is ready, and takes the bytes that have arrived.
  private func wait(for events: Int32, by end: ContinuousClock.Instant) throws(PostgresFailure) {
    let left = ContinuousClock.now.duration(to: end)
    guard left > .zero else {
      isLost = true
      throw .silence
    }
    guard socket >= 0 else { throw lost() }
    // Encrypted bytes may have left the socket already, where poll doesn't see them.
    let slice = PQsslInUse(handle) == 1 ? min(left, .milliseconds(20)) : min(left, .seconds(60))
    var source = pollfd(fd: socket, events: Int16(events), revents: 0)
    _ = poll(&source, 1, Int32(slice / .milliseconds(1)) + 1)
    guard PQconsumeInput(handle) == 1 else { throw lost() }
  }

  /// Reads the notifications that have arrived. Throws if the connection is lost.
  func takeNotifications() throws(PostgresFailure) -> [(payload: String, processID: Int32)] {
    guard PQconsumeInput(handle) == 1 else { throw lost() }
    var found: [(payload: String, processID: Int32)] = []
    while let notification = PQnotifies(handle) {
      found.append((String(cString: notification.pointee.extra), notification.pointee.be_pid))
      PQfreemem(notification)
    }
    return found
  }

  /// Returns the canceller of the running statement, for any thread, or `nil` if the connection is lost.
  func canceller() -> PostgresCanceller? { PQgetCancel(handle).map { PostgresCanceller(owning: $0) } }
}
