package import HTTPTypes

/// The fields of the request on which a response depends (RFC 9110 §12.5.5, RFC 9111 §4.1).
package enum Vary: Sendable, Hashable {
  case nothing
  /// Field names in lower case and ordered, each once.
  case fields([String])
  /// `*`: the response depends on more than the request, and always needs confirmation.
  case everything

  package init(_ fields: HTTPFields) {
    var names: Set<String> = []
    for line in fields[values: .vary] {
      for member in ListReader.members(of: line) { names.insert(member.lowercased()) }
    }
    self = names.contains("*") ? .everything : names.isEmpty ? .nothing : .fields(names.sorted())
  }

  /// Returns the values of these fields in the request, to store with the response.
  ///
  /// - Parameter decodes: true if the transport undoes content codings, so that `Accept-Encoding` does not matter.
  package func values(in request: HTTPFields, decodes: Bool = true) -> [VariedField] {
    guard case .fields(let names) = self else { return [] }
    return names.compactMap { name in
      if decodes, name == "accept-encoding" { return nil }
      return VariedField(name: name, value: Self.normalized(name, in: request))
    }
  }

  /// True if the response to a request with the stored values is also the response to this request.
  package static func matches(_ stored: [VariedField], _ request: HTTPFields) -> Bool {
    stored.allSatisfy { $0.value == normalized($0.name, in: request) }
  }

  /// Returns the lines of a field as one, without the white space around its members, or `nil` without the field.
  ///
  /// Languages are in lower case, and ordered if none is preferred.
  private static func normalized(_ name: String, in request: HTTPFields) -> String? {
    guard let name = HTTPField.Name(name) else { return nil }
    let lines = request[values: name]
    guard !lines.isEmpty else { return nil }
    var members = lines.flatMap { ListReader.members(of: $0).map(String.init) }
    if name == .acceptLanguage {
      members = members.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
      if !members.contains(where: { $0.contains(";") }) { members.sort() }
    }
    return members.joined(separator: ",")
  }
}
