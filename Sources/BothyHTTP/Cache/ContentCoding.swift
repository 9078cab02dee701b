import HTTPTypes

/// The fields of a response after a network stack has undone its content coding.
///
/// The stored bytes are the decoded ones, so the coding and the transferred length no longer apply to them. The entity
/// tag stays unchanged, with its weak mark and quotes, because it is sent back to the server.
enum ContentCoding {
  /// True if the fields of a response mark the end of its body, by a length or by chunks.
  static func saysItsEnd(_ fields: HTTPFields) -> Bool {
    fields.contains(.contentLength) || fields.contains(.transferEncoding)
  }

  /// Returns the fields of the decoded body.
  /// - Parameter undone: the codings that the network stack undoes, or `nil` for every one.
  /// - Returns: the fields, and true if a coding was undone. A coding that stays is that of the body.
  static func decoded(_ fields: HTTPFields, undone: Set<String>?) -> (fields: HTTPFields, wasCoded: Bool) {
    guard let coding = fields[.contentEncoding], undone?.contains(coding.lowercased()) ?? true else {
      return (fields, false)
    }
    var fields = fields
    fields[.contentEncoding] = nil
    fields[.contentLength] = nil
    return (fields, true)
  }
}
