import BothyHTTP
import BothyStore
import BothySync

/// One request to Kinto, alone or in a batch. The path is relative to `/v1`.
struct KintoRequest: Sendable, Hashable {
  var method: String
  var path: String
  var headers: [String: String] = [:]
  var body: JSONValue?

  /// The request as a member of a batch.
  var json: JSONValue {
    var members: [String: JSONValue] = ["method": .string(method), "path": .string(path)]
    if !headers.isEmpty { members["headers"] = .object(headers.mapValues { .string($0) }) }
    if let body { members["body"] = body }
    return .object(members)
  }
}

/// One response of Kinto, alone or from a batch. Names of headers are in lower case.
struct KintoAnswer: Sendable, Hashable {
  var status: Int
  var headers: [String: String]
  var body: JSONValue

  init(status: Int, headers: [String: String] = [:], body: JSONValue = .null) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Reads a member of a batch's `responses`. Returns `nil` for anything else.
  init?(_ json: JSONValue) {
    guard let status = json["status"]?.intValue else { return nil }
    var headers: [String: String] = [:]
    for (name, value) in json["headers"]?.objectValue ?? [:] {
      headers[name.lowercased()] = value.stringValue
    }
    self.init(status: Int(clamping: status), headers: headers, body: json["body"] ?? .null)
  }

  var isSuccess: Bool { (200..<300).contains(status) }

  /// The timestamp in the `ETag`, of the record, or of the whole collection for a listing.
  var timestamp: Int64? { headers["etag"].flatMap { Int64($0.filter { $0 != "\"" }) } }

  /// The token of the next page, percent-encoded as it came, or `nil` on the last page.
  var nextPage: String? {
    guard let query = headers["next-page"]?.split(separator: "?").last else { return nil }
    return query.split(separator: "&").first { $0.hasPrefix("_token=") }.map { String($0.dropFirst(7)) }
  }

  /// True if the response, or any response in it, is a 401. A batch itself needs no permission.
  var isUnauthenticated: Bool {
    status == 401 || body["responses"]?.arrayValue?.contains { $0["status"]?.intValue == 401 } ?? false
  }

  /// Kinto's number for the kind of error.
  var errno: Int64? { body["errno"]?.intValue }

  /// True if the collection or bucket is missing, instead of the record.
  var lacksParent: Bool { status == 404 && errno == 111 || status == 403 && errno == 121 }

  var message: String {
    let text = body["message"]?.stringValue ?? body["error"]?.stringValue
    return text.map { "Kinto answered \(status): \($0)" } ?? "Kinto answered \(status)."
  }

  var retryAfter: Double? {
    RetryAfter.seconds(headers["retry-after"], date: headers["date"])
  }

  /// The error of the response, or `nil` for a success. 410 means the end of the service, not a missing record.
  var error: RemoteError? {
    if status == 410 {
      // A text that isn't JSON has no message.
      let alert = headers["alert"].flatMap { try? JSONValue(parsing: Array($0.utf8)) }
      let reason = alert?["message"]?.stringValue ?? body["message"]?.stringValue ?? "The service has ended."
      return RemoteError(
        .rejected, "Kinto answered 410: \(reason) Update the app. Pending changes stay on the device.",
        status: 410,
        code: "endOfService")
    }
    return RemoteError(
      status: status, message: message, retryAfter: retryAfter, code: errno.map { "kinto-\($0)" })
  }

  /// The rejection of an operation by this response.
  var rejection: Rejection {
    let code = status == 403 ? "forbidden" : status == 413 ? "tooLarge" : "invalid"
    let details = body["details"]?.arrayValue ?? []
    let fields = details.compactMap { detail -> Rejection.FieldError? in
      guard let name = detail["name"]?.stringValue else { return nil }
      return Rejection.FieldError(
        field: name, code: "invalid", message: detail["description"]?.stringValue ?? "not accepted")
    }
    return Rejection(code: code, message: message, fields: fields)
  }
}
