package import Foundation
package import HTTPTypes

/// The beginning of a body that broke off, and the data to request the rest of it.
///
/// Only a strong validator guarantees that the rest belongs to the same bytes. Both sides count the same bytes only if
/// no content coding was undone.
package struct PartialBody: Sendable, Hashable {
  package var url: String
  /// A strong entity tag.
  package var validator: String
  /// The length of the whole body, or `nil` if the server did not report it.
  package var total: Int64?
  package var fields: HTTPFields
  package var bytes: Data

  package init(url: String, validator: String, total: Int64?, fields: HTTPFields, bytes: Data) {
    self.url = url
    self.validator = validator
    self.total = total
    self.fields = fields
    self.bytes = bytes
  }

  /// Returns `nil` if the rest of this response can't be requested.
  init?(url: String, _ response: ResourceResponse, isGet: Bool) {
    guard isGet, response.status == 200, !response.wasCoded, response.fields[.contentEncoding] == nil,
      let tag = response.fields[.eTag], tag.hasPrefix("\""), tag.count > 2,
      response.fields[.acceptRanges]?.lowercased() != "none"
    else { return nil }
    self.init(
      url: url, validator: tag, total: response.announcedLength,
      fields: response.fields, bytes: Data())
  }

  /// Returns the fields of a request for the rest.
  ///
  /// The caller's conditions are removed, because the request must check that *these* bytes are still current.
  func asking(_ fields: HTTPFields) -> HTTPFields {
    var fields = fields
    fields[.ifNoneMatch] = nil
    fields[.ifModifiedSince] = nil
    fields[.range] = "bytes=\(bytes.count)-"
    fields[.ifRange] = validator
    fields[.acceptEncoding] = "identity"
    return fields
  }

  /// Returns the length of the whole body if a 206 continues these bytes exactly, else `nil`.
  func total(continuedBy response: ResourceResponse) -> Int64? {
    guard response.status == 206, !response.wasCoded, response.fields[.contentEncoding] == nil,
      response.fields[.eTag].map({ $0 == validator }) ?? true,
      let range = response.fields[.contentRange].flatMap(ContentRange.init),
      range.first == Int64(bytes.count), let total = range.total ?? total, total > 0, range.last == total - 1,
      self.total ?? total == total
    else { return nil }
    return total
  }

  /// Returns the fields of the whole response: those of its beginning, updated with those of the 206.
  func fields(continuedBy answer: HTTPFields, total: Int64) -> HTTPFields {
    let ofThePart: Set<HTTPField.Name> = [.contentRange, .contentLength]
    let news = answer.filter { !ofThePart.contains($0.name) }
    let replaced = Set(news.map(\.name)).union([.contentLength])
    var joined = HTTPFields(fields.filter { !replaced.contains($0.name) })
    for field in news { joined.append(field) }
    joined[.contentLength] = String(total)
    return joined
  }
}

/// The value of a field such as `bytes 100-199/1000` (RFC 9110 §14.4).
struct ContentRange: Hashable {
  var first: Int64
  var last: Int64
  var total: Int64?

  init?(_ text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let sides = parts[1].split(separator: "/", omittingEmptySubsequences: false)
    let ends = sides.first?.split(separator: "-", omittingEmptySubsequences: false) ?? []
    guard sides.count == 2, ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]),
      first >= 0,
      last >= first
    else { return nil }
    self.first = first
    self.last = last
    if sides[1] != "*" {
      guard let total = Int64(sides[1]), total > last else { return nil }
      self.total = total
    }
  }
}

extension ResourceResponse {
  /// The value of `Content-Length`, or `nil` if it isn't a length.
  var announcedLength: Int64? {
    fields[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }
}
