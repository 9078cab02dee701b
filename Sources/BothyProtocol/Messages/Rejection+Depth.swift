import BothyStore

extension Rejection {
  /// Makes the rejection of fields whose values are nested too deeply for servers and devices. Returns `nil` if none
  /// is.
  package init?(tooDeep fields: [String: JSONValue], of type: String) {
    let names = fields.filter { $0.value.nests(deeperThan: JSONReader.maximumValueDepth) }.keys.sorted()
    guard !names.isEmpty else { return nil }
    let errors = names.map { name in
      FieldError(
        field: name, code: "tooDeep",
        message: "\(type).\(name) is nested deeper than \(JSONReader.maximumValueDepth) levels. "
          + "Make it flatter, or keep it as text or in a blob.")
    }
    self.init(
      code: "invalid", message: "\(type) is not valid: " + errors.map(\.message).joined(separator: " "),
      fields: errors)
  }
}
