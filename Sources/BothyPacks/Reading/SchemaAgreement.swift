internal import BothyStore

/// The check that a pack has the fields that an app's type needs.
///
/// Each field must have the same kind, and may be null only if the app expects it. A pack may have more fields, in any
/// order, and any indexes.
struct SchemaAgreement {
  private let pack: String

  init(_ manifest: Pack.Manifest, _ folder: String) {
    pack = "\(manifest.name) \(manifest.version) in \(folder)"
  }

  /// Returns the type with the app's fields first, in the app's order. They have the pack's kinds and indexes, and are
  /// read as the app declares them: with its check, optionality and default.
  ///
  /// Throws `BothyError` `.schemaMismatch`, which names every difference.
  func merged(_ wanted: TypeSchema, _ found: TypeSchema) throws(BothyError) -> TypeSchema {
    let differences = wanted.fields.compactMap { difference($0, found[$0.name], of: wanted.name) }
    guard differences.isEmpty else {
      throw BothyError(
        .schemaMismatch,
        "The pack \(pack) does not fit the app's type \(wanted.name): \(differences.joined(separator: "; ")). "
          + "Build the pack with the app's schema (`bothy pack build --schema`), or update the app.")
    }
    let known = wanted.fields.compactMap { field -> FieldSchema? in
      guard var own = found[field.name] else { return nil }
      (own.reading, own.isOptional, own.defaultValue) = (field.reading, field.isOptional, field.defaultValue)
      return own
    }
    var merged = found
    let names = Set(known.map(\.name))
    merged.fields = known + found.fields.filter { !names.contains($0.name) }
    return merged
  }

  /// Checks the types of a schema that the pack must have.
  func check(_ wanted: StoreSchema, against found: StoreSchema) throws(BothyError) {
    for type in wanted.types {
      guard let own = found[type.name] else {
        throw BothyError(.schemaMismatch, "The pack \(pack) has no \(type.name).")
      }
      _ = try merged(type, own)
    }
  }

  private func difference(_ wanted: FieldSchema, _ found: FieldSchema?, of type: String) -> String? {
    guard let found else { return "it has no field '\(wanted.name)'" }
    // Every whole number is a number.
    guard wanted.hasKind(of: found) || wanted.kind == .double && found.kind == .int else {
      return "'\(wanted.name)' is \(found.phrase) there and \(wanted.phrase) here"
    }
    if found.isOptional && !wanted.isOptional { return "'\(wanted.name)' may be null there and not here" }
    return nil
  }
}
