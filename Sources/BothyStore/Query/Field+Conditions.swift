/// Conditions and sort keys written as Swift expressions: `$0.done == false && $0.due < date`.
///
/// Each creates a `Condition` or a `SortKey` value and reads nothing.
extension Field {
  /// A condition that is true if the field has no value.
  package var isNull: Condition { Condition(.compare(field: fieldName, .equal, .null)) }

  /// A condition that is true if the field has a value.
  package var isNotNull: Condition { Condition(.compare(field: fieldName, .notEqual, .null)) }

  /// A sort key with the smallest value first, and null before every value. A query that sorts by data, coordinates,
  /// JSON or lists throws `BothyError` `invalidQuery`.
  public var ascending: SortKey { SortKey(fieldName) }

  /// A sort key with the largest value first, and null after every value. An index of the field serves both directions.
  public var descending: SortKey { SortKey(fieldName, ascending: false) }
}

extension Field {
  /// Returns a condition that is true if the list contains the element: a reference, a text, a number, a date. False
  /// without a list.
  ///
  /// A reference costs one look-up in the index that every list of references has. No index serves other elements:
  /// their condition reads the list of every record that the rest of the condition leaves. Texts are compared by their
  /// UTF-8 bytes, and numbers exactly. Elements that are coordinates, JSON or lists throw `BothyError` `invalidQuery`
  /// at the fetch, as a number that isn't finite does.
  ///
  /// ```swift
  /// let (tags, heights) = (Field<[String]>("tags"), Field<[Double]>("heights"))
  /// let steep = Trip.where { _ in tags.includes("steep") && !heights.includes(0) }
  /// ```
  public func includes<Element: FieldConvertible>(_ element: Element) -> Condition
  where Value.Unwrapped == [Element] { Condition(.includes(field: fieldName, element.fieldValue)) }
}

extension Field where Value.Unwrapped == String {
  /// Returns a condition on text in the field. `ignoringCase` folds only the ASCII letters.
  ///
  /// No index serves it: it reads every record that the rest of the condition leaves. Empty text is in every value. To
  /// search for words use `@FullText` and `matching(_:)`.
  ///
  /// ```swift
  /// let rope = Todo.where { $0.title.contains("rope", ignoringCase: true) }
  /// ```
  public func contains(_ text: String, ignoringCase: Bool = false) -> Condition {
    Condition(.contains(field: fieldName, text, ignoringCase: ignoringCase))
  }

  /// Returns a condition on the start of the field. `ignoringCase` folds only the ASCII letters. Uses the field's index
  /// unless the case is ignored. Compares UTF-8 bytes. Empty text matches every record with a value.
  public func hasPrefix(_ text: String, ignoringCase: Bool = false) -> Condition {
    Condition(.beginsWith(field: fieldName, text, ignoringCase: ignoringCase))
  }

  /// Returns a condition that is true if the field equals a text as people read it: without case, accents and the zeros
  /// before a number. False without a value.
  ///
  /// Equal are the texts that share a place in the natural order of `order(by:_:natural:)`, on devices and servers.
  /// With stored sort keys (`@Indexed(natural: true)`) it costs one look-up, else a computation for each record.
  ///
  /// ```swift
  /// let zoe = Hut.where { $0.name.equals(naturally: "zoe") }  // Zoe, ZOË
  /// ```
  public func equals(naturally text: String) -> Condition {
    Condition(.compareNaturally(field: fieldName, .equal, text))
  }
}

extension Field where Value.Unwrapped == Coordinate {
  /// Returns a condition that is true at most `metres` from `centre` on the great circle, and false without a
  /// coordinate. Looks an indexed field up in its R-tree.
  ///
  /// Measures only the records in the box around the circle. A field without an index costs a visit of every record. A
  /// negative or infinite radius, or a centre off the earth, throws `BothyError` `invalidQuery` at the fetch.
  public func isWithin(metres: Double, of centre: Coordinate) -> Condition {
    Condition(.near(field: fieldName, centre: centre, metres: metres))
  }

  /// Returns a condition that is true in the box and on its edges, and false without a coordinate. A box whose west is
  /// greater than its east crosses the antimeridian. Looks an indexed field up in its R-tree.
  ///
  /// A field without an index costs a visit of every record. A box off the earth, or with its south above its north,
  /// throws `BothyError` `invalidQuery` at the fetch.
  public func isIn(_ box: GeoBox) -> Condition { Condition(.inside(field: fieldName, box)) }

  /// Returns a sort key by the distance from `place` on the great circle, smallest first. Records without a coordinate
  /// are last. With a limit, an indexed field reads only the nearby records.
  package func nearest(to place: Coordinate) -> SortKey { SortKey(fieldName, distanceFrom: place) }

  /// Returns a sort key by the distance from `place` on the great circle, largest first. Records without a coordinate
  /// are first.
  package func farthest(from place: Coordinate) -> SortKey {
    SortKey(fieldName, distanceFrom: place, ascending: false)
  }
}

extension Field {
  /// Returns a condition that is true if the field equals one of the values. Nil among them finds records without a
  /// value. Never true of an empty list.
  package func isIn(_ values: some Sequence<Value>) -> Condition {
    Condition(.oneOf(field: fieldName, values.map(\.fieldValue)))
  }

  /// Returns a condition that is true if the field equals `value`; compared with nil, if it has no value. Texts are
  /// equal if their UTF-8 bytes are. An index of the field costs one look-up. A JSON value, a blob or a list compares
  /// with nil only; others throw `BothyError` `invalidQuery` at the fetch.
  public static func == (field: Field, value: Value) -> Condition { field.compared(.equal, value) }
  /// Returns a condition that is true if the field differs from `value` or has no value; compared with nil, if it has a
  /// value. Uses no index. Throws as `==`.
  public static func != (field: Field, value: Value) -> Condition { field.compared(.notEqual, value) }
  /// Returns a condition that is true if the field sorts before `value`: text by its UTF-8 bytes, false before true.
  /// False without a value. An index of the field serves the range. Data, coordinates, JSON and lists have no order and
  /// throw `BothyError` `invalidQuery` at the fetch, as a number that isn't finite does.
  public static func < (field: Field, value: Value) -> Condition { field.compared(.less, value) }
  /// Returns a condition that is true if the field equals `value` or sorts before it. False without a value. Orders,
  /// indexes and errors are those of `<`.
  public static func <= (field: Field, value: Value) -> Condition { field.compared(.lessOrEqual, value) }
  /// Returns a condition that is true if the field sorts after `value`: text by its UTF-8 bytes, true after false.
  /// False without a value. Indexes and errors are those of `<`.
  public static func > (field: Field, value: Value) -> Condition { field.compared(.greater, value) }
  /// Returns a condition that is true if the field equals `value` or sorts after it. False without a value. Orders,
  /// indexes and errors are those of `<`.
  public static func >= (field: Field, value: Value) -> Condition { field.compared(.greaterOrEqual, value) }

  private func compared(_ comparison: ConditionTree.Comparison, _ value: Value) -> Condition {
    Condition(.compare(field: fieldName, comparison, value.fieldValue))
  }
}

/// Conditions on two fields of a record: `$0.spent > $0.budget`. One or both may be optional. They use no index.
extension Field {
  /// Returns a condition that is true if the fields are equal, or neither has a value. Text is compared by its UTF-8
  /// bytes. Fields of coordinates, JSON or lists throw `BothyError` `invalidQuery` at the fetch.
  public static func == <Other>(left: Field, right: Field<Other>) -> Condition
  where Other.Unwrapped == Value.Unwrapped { left.compared(.equal, right) }
  /// Returns a condition that is true if the fields differ, or only one has a value. Throws as `==` of two fields.
  public static func != <Other>(left: Field, right: Field<Other>) -> Condition
  where Other.Unwrapped == Value.Unwrapped { left.compared(.notEqual, right) }
  /// Returns a condition that is true if the left field sorts before the right one. False if one has no value. Fields
  /// of data, coordinates, JSON or lists throw `BothyError` `invalidQuery` at the fetch.
  ///
  /// ```swift
  /// let modified = Field<Date?>("modified")
  /// let late = Todo.where { $0.due < modified }
  /// ```
  public static func < <Other>(left: Field, right: Field<Other>) -> Condition
  where Other.Unwrapped == Value.Unwrapped { left.compared(.less, right) }
  /// Returns a condition that is true if the left field sorts before the right one or equals it. False if one has no
  /// value. Throws as `<` of two fields.
  public static func <= <Other>(left: Field, right: Field<Other>) -> Condition
  where Other.Unwrapped == Value.Unwrapped { left.compared(.lessOrEqual, right) }
  /// Returns a condition that is true if the left field sorts after the right one. False if one has no value. Throws as
  /// `<` of two fields.
  public static func > <Other>(left: Field, right: Field<Other>) -> Condition
  where Other.Unwrapped == Value.Unwrapped { left.compared(.greater, right) }
  /// Returns a condition that is true if the left field sorts after the right one or equals it. False if one has no
  /// value. Throws as `<` of two fields.
  public static func >= <Other>(left: Field, right: Field<Other>) -> Condition
  where Other.Unwrapped == Value.Unwrapped { left.compared(.greaterOrEqual, right) }

  private func compared<Other>(_ comparison: ConditionTree.Comparison, _ other: Field<Other>) -> Condition {
    Condition(.compareFields(fieldName, comparison, other.fieldName))
  }
}
