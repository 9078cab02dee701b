import BothyStore
import BothySyncService
import HTTPTypes
import Logging
import Synchronization

/// The requests of one process to a bucket: signed, with time limits, and repeated while the storage is busy.
///
/// Every method throws `StorageUnavailable` if the storage can't be used, and `CancellationError`. A missing object is a
/// result, and only the storage's own word for it counts.
final class S3Client: Sendable {
  /// The times that a request may take.
  struct TimeLimits: Sendable {
    /// The time for one attempt.
    var attempt: Duration = .seconds(15)
    /// The number of attempts.
    var attempts = 8
    /// The time after which no further attempt begins.
    var total: Duration = .seconds(20)
  }

  typealias Send = @Sendable (OutboundRequest) async throws -> OutboundResponse

  private struct TimedOut: Error, CustomStringConvertible {
    let description = "the answer did not come in time"
  }

  /// A request without its signature.
  struct Call: Sendable {
    var method: HTTPRequest.Method
    var key: String
    var query: [(name: String, value: String)] = []
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// True if the status 200 may come with an error in its body.
    var mayFailLate = false
    var timeLimits = TimeLimits()
  }

  let bucket: S3Bucket
  /// The key that the next attempt is signed with.
  private let credentials: Mutex<S3Credentials>
  private let logger: Logger
  private let clock: @Sendable () -> Int64
  private let timer: any Clock<Duration>
  private let sleep: @Sendable (Duration) async throws -> Void
  private let send: Send
  private let backoff = Backoff(first: .milliseconds(200), limit: .seconds(5))
  private let outages = Mutex(OutageLog())

  /// - Parameters:
  ///   - clock: the time of signatures, in milliseconds since 1970. A storage refuses one that is off by 15 minutes.
  ///   - timer: the clock of time limits.
  ///   - sleep: waits between attempts.
  ///   - send: sends a request once. Throws without a response.
  init(
    _ bucket: S3Bucket, logger: Logger, clock: @escaping @Sendable () -> Int64, timer: any Clock<Duration>,
    sleep: @escaping @Sendable (Duration) async throws -> Void, send: @escaping Send
  ) {
    self.bucket = bucket
    credentials = Mutex(bucket.credentials)
    self.logger = logger
    self.clock = clock
    self.timer = timer
    self.sleep = sleep
    self.send = send
  }

  /// Signs later attempts with another key.
  func replace(_ credentials: S3Credentials) { self.credentials.withLock { $0 = credentials } }

  // MARK: objects

  /// Returns bytes of an object, fewer at its end, or `nil` if it is missing.
  func get(_ key: String, _ range: Range<Int64>) async throws -> [UInt8]? {
    guard !range.isEmpty else { return [] }
    let field = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
    let response = try await perform(Call(method: .get, key: key, headers: ["range": field]))
    switch response.status {
    case 404: return nil
    case 416: return []
    case 206: return Array(response.body.prefix(range.count))
    default: return Array(response.body.dropFirst(Int(clamping: range.lowerBound)).prefix(range.count))
    }
  }

  /// Stores an object, whole or not at all.
  func put(_ key: String, _ body: [UInt8]) async throws {
    let headers = ["content-type": "application/octet-stream"]
    _ = try await perform(Call(method: .put, key: key, headers: headers, body: body))
  }

  /// Deletes an object, if it is stored.
  func delete(_ key: String) async throws { _ = try await perform(Call(method: .delete, key: key)) }

  /// Deletes objects, eight at a time. Throws the first failure, after which some are left.
  func delete(_ keys: some Sequence<String>) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (index, key) in keys.enumerated() {
        if index >= 8 { try await tasks.next() }
        tasks.addTask { try await self.delete(key) }
      }
      try await tasks.waitForAll()
    }
  }

  /// Calls `body` with the objects whose keys begin with `prefix`, by key, until it returns false. Costs a request for
  /// each thousand.
  func list(
    _ prefix: String, limit: Int = 1000, timeLimits: TimeLimits = TimeLimits(),
    _ body: (S3Object) async throws -> Bool
  ) async throws {
    var token: String?
    repeat {
      var query = [("list-type", "2"), ("max-keys", "\(limit)"), ("prefix", prefix)]
      if let token { query.append(("continuation-token", token)) }
      var call = Call(method: .get, key: "", timeLimits: timeLimits)
      call.query = query.map { (name: $0.0, value: $0.1) }
      let response = try await perform(call)
      guard response.status == 200, let page = S3Page(response.body) else {
        throw unavailable("a listing was answered \(response.status) with something else")
      }
      for object in page.objects where object.key.hasPrefix(prefix) {
        guard try await body(object) else { return }
      }
      token = page.next
    } while token != nil
  }

  /// Returns all objects whose keys begin with `prefix`, by key.
  func objects(_ prefix: String) async throws -> [S3Object] {
    var found: [S3Object] = []
    try await list(prefix) {
      found.append($0)
      return true
    }
    return found
  }

  // MARK: uploads in parts

  /// Begins an upload in parts, and returns its id.
  func beginUpload(_ key: String) async throws -> String {
    let headers = ["content-type": "application/octet-stream"]
    let response = try await perform(
      Call(method: .post, key: key, query: [("uploads", "")], headers: headers))
    guard let id = S3Document.text(of: "UploadId", in: response.body), !id.isEmpty else {
      throw unavailable("the begin of an upload was answered \(response.status) with something else")
    }
    return id
  }

  /// Stores a part of an upload, and returns its tag.
  func putPart(_ key: String, _ id: String, number: Int, _ body: [UInt8]) async throws -> String {
    let query = [(name: "partNumber", value: "\(number)"), (name: "uploadId", value: id)]
    let response = try await perform(Call(method: .put, key: key, query: query, body: body))
    guard response.status == 200, let tag = response.headers["etag"] else {
      throw unavailable("a part of an upload was answered \(response.status) without a tag")
    }
    return tag
  }

  /// Makes the object of the parts, whole or not at all.
  func completeUpload(_ key: String, _ id: String, tags: [String]) async throws {
    var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    for (index, tag) in tags.enumerated() {
      let safe = tag.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(safe)</ETag></Part>"
    }
    text += "</CompleteMultipartUpload>"
    let response = try await perform(
      Call(
        method: .post, key: key, query: [("uploadId", id)], headers: ["content-type": "application/xml"],
        body: Array(text.utf8), mayFailLate: true))
    guard response.status == 404 else { return }
    // An earlier attempt may have completed it, and its answer was lost.
    var isThere = false
    try await list(key, limit: 1) {
      isThere = $0.key == key
      return false
    }
    guard isThere else { throw unavailable("an upload is gone") }
  }

  /// Deletes the parts of an upload, if it isn't complete.
  func abortUpload(_ key: String, _ id: String) async throws {
    _ = try await perform(Call(method: .delete, key: key, query: [("uploadId", id)]))
  }

  /// Returns uploads in parts that were begun and not completed, at most a thousand.
  func openUploads(_ prefix: String) async throws -> [S3OpenUpload] {
    let response = try await perform(
      Call(method: .get, key: "", query: [("uploads", ""), ("prefix", prefix)]))
    return S3OpenUpload.list(response.body)
  }

  // MARK: attempts

  /// Sends one small request once, and returns the reason for which the bucket can't be used, or `nil`. Throws
  /// `StorageUnavailable` if it may be usable later.
  func probe() async throws -> String? {
    var call = Call(method: .get, key: "", timeLimits: TimeLimits(attempt: .seconds(5), attempts: 1))
    call.query = [("list-type", "2"), ("max-keys", "1"), ("prefix", bucket.prefix)]
    switch await attempt(call) {
    case .done(let response) where S3Page(response.body) != nil: return nil
    case .done(let response): return "it answers \(response.status) with something else than a listing"
    case .refused(let reason): return reason
    case .later(let reason, _): throw StorageUnavailable(.blobs, reason)
    }
  }

  private enum Attempt {
    case done(OutboundResponse)
    case later(String, wait: Duration?)
    case refused(String)
  }

  /// Sends a request until it is answered. The status of the response is 2xx, 404 for a missing object or 416.
  private func perform(_ call: Call) async throws -> OutboundResponse { try await perform(call, by: timer) }

  private func perform(_ call: Call, by timer: some Clock<Duration>) async throws -> OutboundResponse {
    let start = timer.now
    var failures = 0
    while true {
      try Task.checkCancellation()
      switch await attempt(call) {
      case .done(let response):
        if outages.withLock({ $0.decided() }) { logger.notice("the storage of blobs answers again") }
        return response
      case .refused(let reason): throw unavailable(reason)
      case .later(let reason, let demanded):
        try Task.checkCancellation()
        failures += 1
        let wait = max(demanded ?? .zero, backoff.delay(attempt: failures))
        let left = call.timeLimits.total - start.duration(to: timer.now)
        guard failures < call.timeLimits.attempts, wait < left else { throw unavailable(reason) }
        try await sleep(wait)
      }
    }
  }

  private func attempt(_ call: Call) async -> Attempt {
    let request = signed(call)
    let kind = call.key.dropFirst(bucket.prefix.count).prefix { $0 != "/" }
    let name = "\(call.method.rawValue) \(kind.isEmpty ? "list" : kind)"
    let response: OutboundResponse
    do {
      response = try await within(request.timeout, by: timer, orThrow: TimedOut()) { [send] in
        try await send(request)
      }
    } catch {
      return .later("\(name): \(error)", wait: nil)
    }
    let code = response.status == 206 ? nil : Self.code(response, call)
    let reason = "\(name) was answered \(response.status) \(code ?? "")"
    switch response.status {
    case 200...299: return code == nil ? .done(response) : .later(reason, wait: nil)
    case 404 where ["NoSuchKey", "NoSuchUpload"].contains(code): return .done(response)
    case 416: return .done(response)
    case 408, 409, 429, 500, 502, 503, 504: return .later(reason, wait: response.retryAfter)
    default: return code == "RequestTimeout" ? .later(reason, wait: nil) : .refused(reason)
    }
  }

  /// Returns the storage's word for an error, or `nil` without one.
  private static func code(_ response: OutboundResponse, _ call: Call) -> String? {
    guard response.status >= 300 || call.mayFailLate else { return nil }
    var found: String?
    let root = S3Document.read(response.body) { name, parent, text in
      if parent == "Error", name == "Code" { found = text }
    }
    return root == "Error" ? found ?? "Error" : nil
  }

  private func signed(_ call: Call) -> OutboundRequest {
    let path = bucket.root + S3Signature.encoded(call.key, isPath: true)
    var headers = call.headers
    headers["x-amz-date"] = S3Signature.time(clock())
    headers["x-amz-content-sha256"] = call.body.isEmpty ? S3Signature.emptyHash : S3Signature.hash(call.body)
    let credentials = credentials.withLock { $0 }
    headers["x-amz-security-token"] = credentials.token
    var covered = headers
    covered["host"] = bucket.host
    headers["authorization"] = S3Signature.authorization(
      S3Signature.Request(method: call.method, path: path, query: call.query, headers: covered),
      credentials, region: bucket.region)
    let query = call.query.isEmpty ? "" : "?" + S3Signature.queryText(call.query)
    return OutboundRequest(
      call.method, url: bucket.origin + path + query, headers: headers, body: call.body,
      timeout: call.timeLimits.attempt)
  }

  /// Logs a failure, once a minute at most, and returns its error.
  private func unavailable(_ reason: String) -> StorageUnavailable {
    if let count = outages.withLock({ $0.failed(at: clock()) }) {
      logger.error(
        "the storage of blobs fails",
        metadata: ["reason": "\(LogText.safe(reason))", "failures": "\(count)"])
    }
    return StorageUnavailable(.blobs, reason)
  }
}
