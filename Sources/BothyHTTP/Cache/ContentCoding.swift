import HTTPTypes

/// What the fields of an answer say once a network stack has undone its content coding.
///
/// The stored bytes are the decoded ones, so the coding and the length of what went over the wire are no longer true of
/// them. The entity tag stays as it was sent, weak mark and quotes included: it is what the server is asked with.
enum ContentCoding {
  /// Whether the fields of an answer say where its body ends, by a length or by chunks.
  static func saysItsEnd(_ fields: HTTPFields) -> Bool {
    fields.contains(.contentLength) || fields.contains(.transferEncoding)
  }

  /// - Parameter undone: the codings that the network stack undoes.
  /// - Returns: the fields, and whether a coding was undone.
  static func decoded(_ fields: HTTPFields, undone: Set<String>) -> (fields: HTTPFields, wasCoded: Bool) {
    guard let coding = fields[.contentEncoding], undone.contains(coding.lowercased()) else {
      return (fields, false)
    }
    var fields = fields
    fields[.contentEncoding] = nil
    fields[.contentLength] = nil
    return (fields, true)
  }
}
