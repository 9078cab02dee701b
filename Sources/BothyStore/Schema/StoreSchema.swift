/// All declared types of a store, with the app's version number.
///
/// An array of types, such as `[TodoList.self, Todo.self]`, is a schema of version 1. Opening a store validates it and
/// throws `BothyError` `invalidSchema`.
///
/// ```swift
/// let schema = StoreSchema(version: 2, TodoList.self, Todo.self)
/// let store = try SyncedStore(at: path, schema: schema, remote: remote)
/// ```
public struct StoreSchema: Sendable, Hashable {
  /// The version. Increase it when the types change. A file of a higher version is refused.
  package var version: Int
  /// The types in the order of declaration.
  package var types: [TypeSchema]

  /// Creates a schema of types declared by hand. Opening a store validates it.
  ///
  /// The order of the types doesn't matter. Checks nothing here.
  ///
  /// - Parameter version: The version, from 1. Raise it when the types change, because migrations run by it and older
  ///   apps then refuse the file.
  public init(version: Int = 1, types: [TypeSchema]) {
    self.version = version
    self.types = types
  }

  /// Creates a schema from the entity types of an app.
  ///
  /// Types that references point at must be among them, else opening the store throws `BothyError` `invalidSchema`.
  ///
  /// ```swift
  /// let store = try LocalStore(at: path, schema: StoreSchema(version: 2, TodoList.self, Todo.self))
  /// ```
  public init(version: Int = 1, _ entities: any Entity.Type...) {
    self.init(version: version, types: entities.map { $0.schema })
  }

  /// The type called `name`, or nil. Linear in the number of types.
  package subscript(_ name: String) -> TypeSchema? { types.first { $0.name == name } }

  /// Checks the rules that a database needs: names, duplicates, targets of references, kinds of options. Throws
  /// `BothyError` `invalidSchema` with the type and field.
  package func validate() throws(BothyError) { try validate { _, _ in nil } }

  /// Validates the schema, with the lines of a document for messages.
  ///
  /// - Parameter line: returns the line of the permission for an action of the type with this number.
  func validate(line: (Int, Permissions.Action) -> Int?) throws(BothyError) {
    var names: Set<String> = []
    for type in types {
      try Self.check(name: type.name, of: "type")
      guard names.insert(type.name.lowercased()).inserted else {
        throw .invalidSchema(
          "The type '\(type.name)' is declared twice. Type names differ by more than case.")
      }
      guard !type.name.lowercased().hasPrefix("sqlite_") else {
        throw .invalidSchema(
          "'\(type.name)' can't be the name of a type: SQLite keeps 'sqlite_' for its own tables. Rename the type."
        )
      }
      try validate(type)
    }
    try checkIndexNames()
    try checkWireNames()
    if let problem = permissionProblems().first {
      throw .invalidSchema(problem.text(line: line(problem.type, problem.action)))
    }
  }

  private func validate(_ type: TypeSchema) throws(BothyError) {
    var columns: Set<String> = []
    for field in type.fields {
      try Self.check(name: field.name, of: "field of \(type.name)")
      for column in field.columns where !columns.insert(column.lowercased()).inserted {
        throw .invalidSchema("\(type.name) has two fields that need the column '\(column)'.")
      }
      try validate(field, of: type)
    }
    try type.validateIndexes()
  }

  private func validate(_ field: FieldSchema, of type: TypeSchema) throws(BothyError) {
    let place = "\(type.name).\(field.name)"
    if field.name == "id" {
      throw .invalidSchema("\(place) is reserved: every record has an id of its own. Remove the field.")
    }
    // SQLite reads the truth value in a condition as the column of that name.
    if ["true", "false"].contains(field.name.lowercased()) {
      throw .invalidSchema("\(place) can't be the name of a field: it is a truth value. Rename the field.")
    }
    if let target = field.kind.target {
      guard self[target.type] != nil else {
        throw .invalidSchema(
          "\(place) refers to the type '\(target.type)', which is not declared. Add the type to the schema.")
      }
      if case .reference(_, .nullify) = field.kind, !field.isOptional {
        throw .invalidSchema("\(place) must be optional, because its delete rule is 'nullify'.")
      }
    }
    if field.isFullText && field.kind != .text {
      throw .invalidSchema("\(place) can't be in the full-text index: it is not a string.")
    }
    if field.isFullText && field.name.lowercased() == "rank" {
      throw .invalidSchema(
        "\(place) can't be in the full-text index, which has a column of that name already. Rename the field."
      )
    }
    if field.isNatural && (field.kind != .text || field.isDecimal) {
      throw .invalidSchema("\(place) can't have natural sort keys: it is not a string.")
    }
    if field.isSensitive
      && (field.kind != .text || !field.isOptional || field.isIndexed || field.isUnique || field.isFullText
        || field.isNatural || field.defaultValue != nil || !type.isSynced)
    {
      throw .invalidSchema(
        "\(place) can't be sensitive: such a field is an optional string of a synced type, with no default and no index."
      )
    }
    if field.kind == .coordinate && field.isUnique {
      throw .invalidSchema("\(place) can't be unique: it is a coordinate.")
    }
    if let value = field.defaultValue, !value.fits(field) {
      throw .invalidSchema("The default of \(place) is not \(field.kind.phrase).")
    }
  }

  /// Checks that a name is an identifier: a letter or `_`, then letters, digits or `_`, at most 64 bytes. A leading `_`
  /// is reserved for Bothy. A column `rowid` hides SQLite's own, by which indexes and conversions find a row.
  static func check(name: String, of what: String) throws(BothyError) {
    let isIdentifier =
      name.utf8.count <= 64
      && name.utf8.enumerated().allSatisfy { index, byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): index > 0
        default: false
        }
      }
    let lowercased = name.lowercased()
    guard isIdentifier, !name.isEmpty, !lowercased.hasPrefix("bothy"), lowercased != "rowid" else {
      throw .invalidSchema(
        "'\(name)' can't be the name of a \(what): use a letter, then letters, digits or '_', "
          + "at most 64, not starting with 'bothy', and not 'rowid'.")
    }
  }
}

/// `[TodoList.self, Todo.self]`: the types of an app, at version 1.
extension StoreSchema: ExpressibleByArrayLiteral {
  /// Creates a schema of version 1. Once the types have changed, write `StoreSchema(version: 2, Todo.self)` instead.
  public init(arrayLiteral types: any Entity.Type...) { self.init(types) }

  /// The schema of entity types, in their order.
  ///
  /// - Parameter version: Rises when the app changes its types; a file of a higher version is refused.
  package init(_ types: [any Entity.Type], version: Int = 1) {
    self.init(version: version, types: types.map { $0.schema })
  }
}

extension FieldValue {
  /// True if the value fits `field`: one of its kind, or null if it is optional.
  package func fits(_ field: FieldSchema) -> Bool {
    switch (self, field.kind) {
    case (.null, _): field.isOptional
    case (.double(let number), .double): number.isFinite
    case (.bool, .bool), (.int, .int), (.int, .double), (.text, .text), (.text, .uuid),
      (.date, .date), (.data, .data), (.json, .json), (.json, .blob),
      (.text, .reference), (.list, .references):
      true
    case (.coordinate(let place), .coordinate): place.isOnEarth
    default: false
    }
  }
}
