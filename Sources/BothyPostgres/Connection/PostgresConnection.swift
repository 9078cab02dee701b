import CPostgres
import Foundation

/// One session with PostgreSQL through libpq, with prepared statements and several statements in one round trip.
///
/// libpq blocks, so a connection belongs to one thread. Every method throws `PostgresFailure`. After one with the
/// remedy `.reconnect` the connection is useless.
final class PostgresConnection {
  private let handle: OpaquePointer
  /// The names of prepared statements by their SQL.
  private var names: [String: String] = [:]
  private var nameCount = 0
  private let trace: (@Sendable (String) -> Void)?

  /// The settings of every session, which an address may override. A silent server is given up after half a minute
  /// instead of hours.
  private static let defaults = [
    ("application_name", "bothy"), ("connect_timeout", "5"), ("keepalives_idle", "10"),
    ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
    ("target_session_attrs", "read-write"),
  ]

  /// Connects. `address` is a URL or a connection string of libpq. Several hosts are tried in order.
  init(to address: String, trace: (@Sendable (String) -> Void)? = nil) throws(PostgresFailure) {
    guard let connection = Self.open(address) else { throw PostgresFailure(message: "Out of memory.") }
    guard PQstatus(connection) == CONNECTION_OK else {
      let message = Self.message(connection)
      PQfinish(connection)
      throw PostgresFailure(message: message)
    }
    handle = connection
    self.trace = trace
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
  }

  deinit { PQfinish(handle) }

  private static func open(_ address: String) -> OpaquePointer? {
    let settings = defaults + [("client_encoding", "UTF8"), ("dbname", address)]
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

  /// Runs statements without parameters, in one transaction unless they contain others.
  func execute(_ sql: String) throws(PostgresFailure) {
    guard let result = PQexec(handle, sql) else { throw lost() }
    let answer = PostgresResult(owning: result)
    switch answer.status {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: return
    default: throw refusal(answer)
    }
  }

  func run(_ statement: PostgresStatement) throws(PostgresFailure) -> PostgresResult {
    guard let result = try run([statement]).last else { throw lost() }
    return result
  }

  /// Runs statements in order and in one round trip. The statements after a failed one aren't run, and its error is
  /// thrown.
  ///
  /// All but the last should return few rows, because the server stops reading until its results are read.
  func run(_ statements: [PostgresStatement]) throws(PostgresFailure) -> [PostgresResult] {
    guard PQenterPipelineMode(handle) == 1 else { throw lost() }
    var prepared: [String?] = []
    for statement in statements { prepared.append(try send(statement)) }
    guard PQpipelineSync(handle) == 1 else { throw lost() }
    var results: [PostgresResult] = []
    var refused: PostgresResult?
    for (statement, name) in zip(statements, prepared) {
      if let name {
        let answer = try next()
        if answer.status == PGRES_COMMAND_OK {
          names[statement.sql] = name
        } else if refused == nil {
          refused = answer
        }
      }
      let answer = try next()
      switch answer.status {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK: results.append(answer)
      default: if refused == nil { refused = answer }
      }
    }
    // The end of the pipeline; nothing follows it.
    guard let end = PQgetResult(handle) else { throw lost() }
    let isEnd = PQresultStatus(end) == PGRES_PIPELINE_SYNC
    PQclear(end)
    guard isEnd, PQexitPipelineMode(handle) == 1 else { throw lost() }
    if let refused { throw refusal(refused) }
    return results
  }

  /// Sends a statement, and before it a request to prepare it, if it is kept and new. Returns the new name.
  private func send(_ statement: PostgresStatement) throws(PostgresFailure) -> String? {
    trace?(statement.sql)
    var newName: String?
    if statement.isKept, names[statement.sql] == nil {
      nameCount += 1
      let name = "s\(nameCount)"
      let sent = PQsendPrepare(
        handle, name, statement.sql, Int32(statement.parameterCount), statement.types)
      guard sent == 1 else { throw lost() }
      newName = name
    }
    let name = statement.isKept ? newName ?? names[statement.sql] : nil
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
  private func next() throws(PostgresFailure) -> PostgresResult {
    guard let result = PQgetResult(handle) else { throw lost() }
    let answer = PostgresResult(owning: result)
    if answer.status == PGRES_PIPELINE_SYNC { throw lost() }
    while let more = PQgetResult(handle) { PQclear(more) }
    if PQstatus(handle) != CONNECTION_OK {
      throw answer.status == PGRES_FATAL_ERROR ? refusal(answer) : lost()
    }
    return answer
  }

  private func refusal(_ result: PostgresResult) -> PostgresFailure {
    var failure = result.failure
    // The server's message before it closed the connection is kept. A message of libpq itself has no code.
    if PQstatus(handle) != CONNECTION_OK, failure.remedy == .none { failure.code = nil }
    return failure
  }

  private func lost() -> PostgresFailure {
    let message = Self.message(handle)
    return PostgresFailure(message: message.isEmpty ? "The connection was lost." : message)
  }

  private static func message(_ connection: OpaquePointer) -> String {
    PQerrorMessage(connection).map { String(cString: $0).trimmingNewlines } ?? ""
  }
}

extension PostgresConnection {
  /// Returns the canceller of the running statement, for any thread, or `nil` if the connection is lost.
  func canceller() -> PostgresCanceller? { PQgetCancel(handle).map { PostgresCanceller(owning: $0) } }

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
}

/// Cancels the running statement of a connection. Any thread may use it, because the connection's key, libpq's only
/// data here, doesn't change.
final class PostgresCanceller: @unchecked Sendable {
  private let key: OpaquePointer

  fileprivate init(owning key: OpaquePointer) { self.key = key }

  deinit { PQfreeCancel(key) }

  /// Makes a connection of its own and waits for it. A failure doesn't matter, because the statement ends by its time
  /// limit.
  func cancel() {
    var message = [CChar](repeating: 0, count: 256)
    _ = PQcancel(key, &message, Int32(message.count))
  }
}
