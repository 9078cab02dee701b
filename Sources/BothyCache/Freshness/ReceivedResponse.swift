package import Foundation
package import HTTPTypes

/// A complete response, with the request that brought it.
package struct ReceivedResponse: Sendable {
  package var method: HTTPRequest.Method
  package var request: HTTPFields
  package var status: Int
  package var fields: HTTPFields
  package var body: Data
  package var requestedAt: Int64
  package var receivedAt: Int64
  /// True if the network stack has undone a content coding of the body.
  package var wasCoded = false

  package init(
    method: HTTPRequest.Method = .get, request: HTTPFields, status: Int, fields: HTTPFields, body: Data,
    requestedAt: Int64, receivedAt: Int64
  ) {
    self.method = method
    self.request = request
    self.status = status
    self.fields = fields
    self.body = body
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
  }
}
