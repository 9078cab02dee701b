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
  ///
  /// - Parameter language: the `Content-Language` of the response. It also answers requests that prefer this language to
  ///   all others. Evaluated only if the languages of the requests differ.
  package static func matches(
    _ stored: [VariedField], _ request: HTTPFields, language: @autoclosure () -> String? = nil
  ) -> Bool {
    for field in stored where field.value != normalized(field.name, in: request) {
      guard field.name == "accept-language", let preferred = preferredLanguage(in: request),
        language()?.lowercased() == preferred
      else { return false }
    }
    return true
  }

  /// Returns the language that a request prefers to all others, in lower case, or `nil` if no single one is.
  private static func preferredLanguage(in request: HTTPFields) -> String? {
    var best: (language: String, weight: Double)?
    var isOnly = true
    for member in request[values: .acceptLanguage].flatMap({ ListReader.members(of: $0) }) {
      let parts = member.split(separator: ";").map { ListReader.trimmed($0).lowercased() }
      guard let language = parts.first else { continue }
      let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      guard quality > 0, quality >= best?.weight ?? 0 else { continue }
      isOnly = quality > best?.weight ?? 0
      best = (language, quality)
    }
    return isOnly ? best?.language : nil
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
