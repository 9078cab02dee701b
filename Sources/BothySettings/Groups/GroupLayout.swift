public import BothyStore

/// A group without its Swift type: its name, version, fields with their defaults, and steps.
package struct GroupLayout: Sendable {
  package let name: String
  package let version: Int
  /// The fields, each with the default value of the Swift type.
  package let fields: [FieldSchema]
  let steps: [SettingsStep]
  /// The schema document that is stored with the values. A row that has this document needs no parsing of its own.
  let document: String

  package init(name: String, version: Int, fields: [FieldSchema], steps: [SettingsStep] = []) {
    self.name = name
    self.version = version
    self.fields = fields
    self.steps = steps
    document = Self.document(name, version, fields)
  }

  /// The schema document that `StoreSchema(json:)` reads.
  static func document(_ name: String, _ version: Int, _ fields: [FieldSchema]) -> String {
    StoreSchema(version: version, types: [TypeSchema(name, fields: fields, synced: false)]).json.canonicalText
  }

  init<Group: SettingsGroup>(_ group: Group.Type) {
    var fields = Group.fields
    for (index, value) in Group().values.enumerated() where fields.indices.contains(index) {
      fields[index].defaultValue = value.isNull ? nil : value
    }
    self.init(name: Group.groupName, version: Group.version, fields: fields, steps: Group.steps)
  }

  var defaults: [FieldValue] { fields.map(\.initialValue) }

  /// The record type that keeps the group in a store whose schema has it. A field without a value has its default, so
  /// a record holds what was set and no more.
  var recordType: TypeSchema {
    var type = TypeSchema(name, fields: fields)
    for index in type.fields.indices {
      type.fields[index].isOptional = true
      type.fields[index].defaultValue = nil
      // The group shows its default for content that it doesn't know.
      type.fields[index].reading = FieldSchema(type.fields[index].name, type.fields[index].kind).reading
    }
    type.mergesByField = true
    return type
  }

  /// Throws `BothyError` `invalidSchema` for a name that can't be stored, and for a field that isn't a plain value.
  func validate() throws(BothyError) {
    if let field = fields.first(where: { $0.kind == .blob || $0.kind.target != nil }) {
      throw BothyError(
        .invalidSchema,
        "\(name).\(field.name) can't be a setting: settings hold values, no references to records and no files."
      )
    }
    try StoreSchema(version: version, types: [recordType]).validate()
  }

  /// Returns the values that the app sees: the default in place of content that the Swift type of a setting doesn't
  /// take. The content itself stays until the setting is changed.
  func shown(_ values: [FieldValue]) -> [FieldValue] {
    zip(fields, values).map { field, value in field.refusal(of: value) == nil ? value : field.initialValue }
  }

  /// The positions of the fields whose values differ.
  func changes(from old: [FieldValue], to new: [FieldValue]) -> [Int] {
    fields.indices.filter { old[$0] != new[$0] }
  }

  func names(_ positions: [Int]) -> Set<String> { Set(positions.map { fields[$0].name }) }

  /// Throws `BothyError` `.invalidValue` for a number that has no form in the file.
  func check(_ values: [FieldValue]) throws(BothyError) {
    for (field, value) in zip(fields, values) {
      guard case .double(let number) = value, !number.isFinite else { continue }
      throw BothyError(
        .invalidValue, "\(name).\(field.name) is \(number), which can't be stored. Give it a finite number.")
    }
  }
}

extension SettingsGroup {
  /// The values in the order of `fields`.
  var values: [FieldValue] {
    var encoder = FieldEncoder(gathering: Self.fields.count)
    encode(to: &encoder)
    return encoder.values
  }

  init(values: [FieldValue]) throws(BothyError) {
    var decoder = FieldDecoder(values: values, type: Self.groupName)
    try self.init(from: &decoder)
  }

  /// The group as a type of record. A store whose schema has it keeps the group as one record of it, so that it is
  /// synced, merged and migrated as the store's other records are; `version` and `steps` are then not used.
  ///
  /// An optional property of such a group has the default nil. With another default, `load` and `update` throw
  /// `BothyError` `invalidSchema`.
  public static var recordType: TypeSchema { GroupLayout(Self.self).recordType }
}
