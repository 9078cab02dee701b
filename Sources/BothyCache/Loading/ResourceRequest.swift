public import Foundation
public import HTTPTypes

/// One request for a resource, as a loader receives it.
///
/// A value. The cache has applied limits of hosts before.
public struct ResourceRequest: Sendable, Hashable {
  /// The method. The cache reads with GET.
  public var method: HTTPRequest.Method
  /// The whole address, with its query and secrets. Do not log it.
  public var url: String
  /// The fields to send. They may have credentials, validators and a range.
  public var fields: HTTPFields
  /// The bytes to send, empty for reads.
  public var body: Data

  /// Creates a request. The default is a GET without fields and body.
  package init(
    _ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Data = Data()
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
  }
}
