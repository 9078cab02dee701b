package import Foundation
package import HTTPTypes

/// The beginning of a body that broke off, and what is needed to ask for the rest of it.
///
/// Only with a strong validator is it certain that the rest belongs to the same bytes, and only where no content coding
/// was undone do both sides count the same bytes.
package struct PartialBody: Sendable, Hashable {
  package var url: String
  /// A strong entity tag.
  package var validator: String
  /// How many bytes there are in all; nil when the server did not say.
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

  /// Nil when the rest of this answer could not be asked for.
  init?(url: String, _ response: ResourceResponse, isGet: Bool) {
    guard isGet, response.status == 200, !response.wasCoded, response.fields[.contentEncoding] == nil,
      let tag = response.fields[.eTag], tag.hasPrefix("\""), tag.count > 2,
      response.fields[.acceptRanges]?.lowercased() != "none"
    else { return nil }
    self.init(
      url: url, validator: tag, total: response.announcedLength,
      fields: response.fields, bytes: Data())
  }

  /// The fields of a request for the rest. Conditions go: what is asked is whether *these* bytes are still right.
  func asking(_ fields: HTTPFields) -> HTTPFields {
    var fields = fields
    fields[.ifNoneMatch] = nil
    fields[.ifModifiedSince] = nil
    fields[.range] = "bytes=\(bytes.count)-"
    fields[.ifRange] = validator
    fields[.acceptEncoding] = "identity"
    return fields
  }

  /// How many bytes there are in all by a 206 that continues these bytes exactly; nil when it does not.
  func total(continuedBy response: ResourceResponse) -> Int64? {
    guard response.status == 206, !response.wasCoded, response.fields[.contentEncoding] == nil,
      response.fields[.eTag].map({ $0 == validator }) ?? true,
      let range = response.fields[.contentRange].flatMap(ContentRange.init),
      range.first == Int64(bytes.count), let total = range.total ?? total, total > 0, range.last == total - 1,
      self.total ?? total == total
    else { return nil }
    return total
  }

  /// The fields of the whole answer: those of its beginning, with what the 206 says anew.
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

/// `bytes 100-199/1000` (RFC 9110 §14.4).
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
  /// What `Content-Length` says, where that is a length.
  var announcedLength: Int64? {
    fields[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }
}
