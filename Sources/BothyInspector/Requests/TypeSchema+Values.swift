import BothyStore
import HTTPTypes

extension TypeSchema {
  /// Reads the fields of a request by their kinds. Throws `HTTPFailure` for a field that the type lacks, and for a value
  /// of another kind.
  func values(_ fields: [String: JSONValue]) throws -> [String: FieldValue] {
    var values: [String: FieldValue] = [:]
    for (name, value) in fields {
      guard let field = self[name] else {
        throw HTTPFailure(
          .badRequest, "unknownField", "\(self.name) has no field '\(name)'. Reload the page.")
      }
      do { values[name] = try field.value(written: value) } catch let error as FieldValueError {
        throw HTTPFailure(.badRequest, "invalidValue", "\(name): \(error.description)")
      }
    }
    return values
  }
}
