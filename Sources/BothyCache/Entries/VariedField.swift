/// One field of the request on which a response depends.
package struct VariedField: Sendable, Hashable {
  /// The name, in lower case.
  package var name: String
  /// The value in the request, or `nil` if it had no such field.
  package var value: String?

  /// Creates one field of a request. The name must be in lower case.
  package init(name: String, value: String?) {
    self.name = name
    self.value = value
  }
}
