internal import struct Foundation.Data

/// The rules by which stored content becomes a value of a field's Swift type. Files and other devices don't have them, so
/// they count neither when schemas are compared nor in their JSON.
package struct FieldReading: Sendable, Hashable {
  /// Throws for a value of the field's kind that the Swift type doesn't take. Nil if the type takes all of them.
  var check: (@Sendable (FieldValue) throws(BothyError) -> Void)?
  /// The conversions of values of earlier kinds, the oldest first.
  var conversions: [Conversion] = []

  /// A declared `.convertField` step.
  struct Conversion: Sendable {
    var kind: ValueKind
    var convert: @Sendable (FieldValue) throws -> FieldValue
  }

  package static func == (left: FieldReading, right: FieldReading) -> Bool { true }
  package func hash(into hasher: inout Hasher) {}
}

extension FieldSchema {
  /// The value that the app sees in place of content that it can't read. The content itself stays until the field is
  /// written.
  package var standIn: FieldValue { isOptional ? .null : defaultValue ?? kind.zero }

  /// Returns the reason why the Swift type of the field doesn't take a value, or nil if it does.
  package func refusal(of value: FieldValue) -> BothyError? {
    do {
      try reading.check?(value)
      return nil
    } catch { return error }
  }

  /// Reads the field's value from JSON, or converts one of an earlier kind. Throws `FieldValueError`.
  package func value(from json: JSONValue) throws -> FieldValue {
    do { return try FieldValue(json: json, kind: kind) } catch {
      guard let converted = converted(json) else { throw error }
      return converted
    }
  }

  /// Converts a value of an earlier kind, or null, by the declared steps. Returns nil if no step takes it, or one fails.
  package func converted(_ json: JSONValue) -> FieldValue? {
    for (index, conversion) in reading.conversions.enumerated().reversed() {
      // Of another kind: an earlier step may take it. A step that fails makes the value unreadable.
      guard let old = try? FieldValue(json: json, kind: conversion.kind) else { continue }
      let value = try? reading.conversions[index...].reduce(old) { try $1.convert($0) }
      return value.flatMap { $0.fits(self) && refusal(of: $0) == nil ? $0 : nil }
    }
    return nil
  }
}

extension ValueKind {
  /// The value of a required field without content or default.
  fileprivate var zero: FieldValue {
    switch self {
    case .bool: .bool(false)
    case .int: .int(0)
    case .double: .double(0)
    case .text, .reference: .text("")
    case .uuid: .text("00000000-0000-0000-0000-000000000000")
    case .date: .date(0)
    case .data: .data(Data())
    case .coordinate: .coordinate(Coordinate(latitude: 0, longitude: 0))
    case .json, .blob: .json("null")
    case .references: .list([])
    }
  }

  /// The types of JSON that a value of the kind is read from.
  private var forms: Set<String> {
    switch self {
    case .bool: ["bool"]
    case .int, .double: ["number"]
    case .date: ["number", "string"]
    case .text, .uuid, .reference, .data: ["string"]
    case .coordinate, .blob: ["object"]
    case .references: ["array"]
    case .json: ["bool", "number", "string", "object", "array"]
    }
  }

  /// True if the JSON of a value shows whether it is of this kind or of the other.
  fileprivate func isToldFrom(_ other: ValueKind) -> Bool { forms.isDisjoint(with: other.forms) }
}

extension StoreSchema {
  /// Returns the schema with the declared conversions of its synced fields, for values that the server has of an earlier
  /// kind. Throws `BothyError` `invalidSchema` for a step whose old values look like the new ones.
  func converting(by steps: [Migration]) throws(BothyError) -> StoreSchema {
    let steps = steps.filter { $0.version <= version }.sorted { $0.version < $1.version }.map(\.step)
    var schema = self
    for (index, type) in types.enumerated() where type.isSynced {
      for (position, field) in type.fields.enumerated() {
        let conversions = Self.conversions(of: field.name, type.name, steps)
        let kinds = conversions.map(\.kind) + [field.kind]
        for (place, old) in kinds.enumerated() {
          guard let new = kinds[(place + 1)...].first(where: { !old.isToldFrom($0) }) else { continue }
          throw .invalidSchema(
            "\(type.name).\(field.name) can't be converted from \(old.phrase) to \(new.phrase): the "
              + "server's old values look like new ones. Declare a new field, and fill it in a transaction.")
        }
        schema.types[index].fields[position].reading.conversions = conversions
      }
    }
    return schema
  }

  private static func conversions(
    of field: String, _ type: String, _ steps: [Migration.Step]
  ) -> [FieldReading.Conversion] {
    var (type, field, found) = (type, field, [FieldReading.Conversion]())
    for step in steps.reversed() {
      switch step {
      case .convertField(type, field, let old, let convert):
        found.insert(.init(kind: old.fieldKind.value, convert: convert), at: 0)
      case .renameType(let from, let to) where to == type: type = from
      case .renameField(type, let from, let to) where to == field: field = from
      // An earlier field or type had the name.
      case .renameField(type, field, _), .dropField(type, field), .renameType(type, _), .dropType(type):
        return found
      default: break
      }
    }
    return found
  }
}
