package import Foundation
package import HTTPTypes

/// All that is to be known to fetch one resource: where it may come from, what to ask and what may come back.
package struct FetchOrder: Sendable {
  package var method: HTTPRequest.Method = .get
  /// The same resource at one or more hosts; the first is the main one.
  package var urls: [String]
  /// A number that is always the same for this resource, which chooses its host; see `stableHash(_:)`.
  package var spread: UInt64
  /// How many of the hosts are used side by side; the others stand in when one fails.
  package var parallelHosts = Int.max
  /// The fields to send, conditions among them.
  package var fields: HTTPFields
  package var body = Data()
  /// Fields that only the host that was asked first may see, besides `Authorization` and `Cookie`.
  package var secretFields: Set<HTTPField.Name> = []
  /// The most bytes of a body; more is `.tooLarge`.
  package var bodyLimit = 64 << 20
  /// What the bytes look like: a body of another media type is not read to its end. Nil for any.
  package var expectation: ContentExpectation?
  package var limits = HostLimits()
  /// Who shares the rate of the limits: a source with all its hosts; nil for each host on its own.
  package var rateGroup: String?
  package var retry = RetryRules()
  /// The longest until the head of an answer, and the longest without a byte of its body.
  package var timeout: Duration = .seconds(20)
  package var followsRedirects = true
  /// Whether the request must say who asks: everywhere except at the app's own server.
  package var requiresUserAgent = true

  package init(_ urls: [String], spread: UInt64 = 0, fields: HTTPFields = [:]) {
    self.urls = urls
    self.spread = spread
    self.fields = fields
  }

  /// The same number for the same text on every machine, in every run (FNV-1a, 64 bits).
  package static func stableHash(_ text: String) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return hash
  }

  /// Whether it may be sent again without doing anything twice.
  var isSafe: Bool { method == .get || method == .head }
}

/// A complete answer of the network, whatever its status: with 304 among them if the order had conditions.
package struct FetchedAnswer: Sendable {
  package var status: Int
  package var fields: HTTPFields
  /// Whole, with content codings undone.
  package var body: Data
  /// Where it came from, after redirects.
  package var url: String
  /// When the request was sent that brought it, and when its head came; milliseconds since 1970.
  package var requestedAt: Int64
  package var receivedAt: Int64
  /// How many requests went out for it, redirects and failures among them.
  package var requests: Int
  /// Whether the body was put together from more than one request.
  package var wasResumed: Bool
  /// Whether nothing but the end of the connection says that the body is whole.
  package var endsByClosing: Bool

  package init(
    status: Int, fields: HTTPFields, body: Data, url: String, requestedAt: Int64, receivedAt: Int64,
    requests: Int = 1, wasResumed: Bool = false, endsByClosing: Bool = false
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.url = url
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
    self.requests = requests
    self.wasResumed = wasResumed
    self.endsByClosing = endsByClosing
  }
}
