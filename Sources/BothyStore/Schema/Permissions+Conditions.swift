/// Conditions in place of the accesses of permissions.
extension Permissions {
  /// An action that permissions allow. The raw value is the name in schema documents, and in messages.
  package enum Action: String, Sendable, Hashable, CaseIterable {
    /// An insert, decided on the new record.
    case create
    /// The sight of a record, decided on it as it is.
    case read
    /// A change, decided on the record before it, and on the changed record if `become` has no condition.
    case update
    /// A change, decided on the changed record.
    case become
    /// A deletion, decided on the record before it.
    case delete
    /// A change of the audience, decided on the record before it, or on a new record.
    case share
  }

  /// Returns permissions in which each of these conditions decides in place of the access for its action.
  ///
  /// A condition is text, such as `_owner = principal.name OR status = 'open'`, over the fields of the record and the
  /// caller. It has no effect on the device. A store and a server check it when they load the schema, and throw
  /// `BothyError` `invalidSchema` with a remedy. The article on permissions has the syntax.
  ///
  /// ```swift
  /// let permissions = Permissions().where(update: "_owner = principal.name OR status = 'open'")
  /// ```
  ///
  /// A condition has at most 4,000 bytes. An action without one stays with its access.
  ///
  /// - Parameters:
  ///   - create: decides on the new record.
  ///   - read: decides on the record as it is.
  ///   - update: decides on the record before the change, and after it if `become` is `nil`.
  ///   - become: decides on the record after a change.
  ///   - delete: decides on the record before the deletion.
  ///   - share: decides who may change the audience, on the record before that.
  public func `where`(
    create: String? = nil, read: String? = nil, update: String? = nil, become: String? = nil,
    delete: String? = nil, share: String? = nil
  ) -> Permissions {
    var permissions = self
    permissions[.create] = create ?? permissions[.create]
    permissions[.read] = read ?? permissions[.read]
    permissions[.update] = update ?? permissions[.update]
    permissions[.become] = become ?? permissions[.become]
    permissions[.delete] = delete ?? permissions[.delete]
    permissions[.share] = share ?? permissions[.share]
    return permissions
  }

  /// The condition of an action as text, or `nil` if the access decides.
  package subscript(_ action: Action) -> String? {
    get { conditions[action] }
    set {
      conditions[action] = newValue
      guard newValue != nil else { return }
      switch action {
      case .create: create = .nobody
      case .read: read = .nobody
      case .update: update = .nobody
      case .delete: delete = .nobody
      case .share: share = .nobody
      case .become: break
      }
    }
  }

  /// Returns the permissions with the wire names of types and fields in the conditions. A condition that can't be read
  /// stays as it is.
  func onTheWire(_ type: TypeSchema, _ schema: StoreSchema, _ names: WireNames) -> Permissions {
    var permissions = self
    for (action, text) in conditions {
      // The check of the schema reports such a condition.
      guard let tree = try? WhereParser.parse(text) else { continue }
      permissions.conditions[action] = tree.onTheWire(type, schema, names).description
    }
    return permissions
  }
}

extension ConditionTree {
  /// Returns the condition with wire names. Metadata get their marked names, because a field may have the plain one on
  /// the wire.
  ///
  /// - Parameter outer: the type of the record that `EXISTS` is decided for.
  fileprivate func onTheWire(
    _ type: TypeSchema, _ schema: StoreSchema, _ names: WireNames, outer: TypeSchema? = nil
  ) -> ConditionTree {
    func wire(_ name: String, _ type: TypeSchema?) -> String {
      guard let type else { return name }
      if let field = type[name] { return field.wireName }
      return PermissionCheck.metadata.contains(name) ? "_" + name : name
    }
    return renamingFields {
      wire($0, type)
    } open: { name in
      OpenValue.recordField(name).map { OpenValue.record(wire($0, outer)) } ?? name
    } exists: { name, condition in
      let member = schema[name]
      return .exists(
        type: names.wire(type: name),
        member.map { condition.onTheWire($0, schema, names, outer: type) } ?? condition)
    }
  }
}
