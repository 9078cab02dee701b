package import Foundation
package import HTTPTypes

/// The description of one fetch: the addresses, the request, and the limits for its response.
package struct FetchOrder: Sendable {
  package var method: HTTPRequest.Method = .get
  /// The addresses of the resource at one or more hosts. The first is the main one.
  package var urls: [String]
  /// A hash that is always equal for this resource and chooses its host.
  package var spread: UInt64
  /// The number of hosts that share the resources. The other hosts replace one that fails.
  package var parallelHosts = Int.max
  /// The fields to send, including conditions.
  package var fields: HTTPFields
  package var body = Data()
  /// Fields for the first host only, besides `Authorization` and `Cookie`. Redirects to another host do not send them.
  package var secretFields: Set<HTTPField.Name> = []
  /// The largest number of bytes of a body. A longer body is `.tooLarge`.
  package var bodyLimit = 64 << 20
  /// The expected content, or `nil` for any. A body of another media type is not read to its end.
  package var expectation: ContentExpectation?
  package var limits = HostLimits()
  /// The name of the group that shares a rate limit: a source with all its hosts. `nil` gives each host its own.
  package var rateGroup: String?
  package var retry = RetryRules()
  /// The longest time until the head of a response, and the longest time without a kilobyte of its body.
  package var timeout: Duration = .seconds(20)
  package var followsRedirects = true
  /// Returns false for a redirect that isn't followed, by its address and its target. `nil` follows all.
  package var admitsRedirect: (@Sendable (_ from: String, _ to: String) -> Bool)?
  /// True if the request must identify the app. False only for the app's own server.
  package var requiresUserAgent = true

  package init(_ urls: [String], spread: UInt64 = 0, fields: HTTPFields = [:]) {
    self.urls = urls
    self.spread = spread
    self.fields = fields
  }

  /// True if repeating the request has no further effect.
  var isSafe: Bool { method == .get || method == .head }

  /// Returns true for a response without bytes if the source expects some. Another request may bring them.
  func lacksBytes(_ answer: FetchedResponse) -> Bool {
    method == .get && answer.body.isEmpty && AnswerKind(status: answer.status) == .body
      && expectation?.allowsEmpty == false
  }
}

/// A complete response from the network, whatever its status. A 304 is possible if the order had conditions.
package struct FetchedResponse: Sendable {
  package var status: Int
  package var fields: HTTPFields
  /// The whole body, without content coding.
  package var body: Data
  /// The address of the response, after redirects.
  package var url: String
  /// The time at which the request was sent and the time at which its head came, in milliseconds since 1970.
  package var requestedAt: Int64
  package var receivedAt: Int64
  /// The number of requests that were sent for it, including redirects and failures.
  package var requests: Int
  /// True if the body was joined from several requests.
  package var wasResumed: Bool
  /// True if only the end of the connection marks the end of the body.
  package var endsByClosing: Bool
  /// True if the network stack has undone a content coding of the body.
  package var wasCoded = false

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
