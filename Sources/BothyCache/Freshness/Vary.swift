package import HTTPTypes

/// Which fields of the request an answer depends on (RFC 9110 §12.5.5, RFC 9111 §4.1).
package enum Vary: Sendable, Hashable {
  case nothing
  /// Field names in lower case and in order, each once.
  case fields([String])
  /// `*`: on things that no request shows. Such an answer always has to be confirmed.
  case everything

  package init(_ fields: HTTPFields) {
    var names: Set<String> = []
    for line in fields[values: .vary] {
      for member in ListReader.members(of: line) { names.insert(member.lowercased()) }
    }
    self = names.contains("*") ? .everything : names.isEmpty ? .nothing : .fields(names.sorted())
  }

  /// What the request said of these fields, to be kept with the answer.
  ///
  /// - Parameter decodes: the transport undoes content codings, so that `Accept-Encoding` makes no difference.
  package func values(in request: HTTPFields, decodes: Bool = true) -> [VariedField] {
    guard case .fields(let names) = self else { return [] }
    return names.compactMap { name in
      if decodes, name == "accept-encoding" { return nil }
      return VariedField(name: name, value: Self.normalized(name, in: request))
    }
  }

  /// Whether a request that says this would have got the same answer.
  package static func matches(_ stored: [VariedField], _ request: HTTPFields) -> Bool {
    stored.allSatisfy { $0.value == normalized($0.name, in: request) }
  }

  /// The lines of a field as one, without the white space around its members; languages in lower case and in order
  /// where none is preferred. Nil when the request has no such field.
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
