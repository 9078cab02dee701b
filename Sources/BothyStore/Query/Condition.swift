/// A condition on the records of a query: `$0.done == false && $0.due < date`.
///
/// ```swift
/// let showsDone = false
/// let due = Todo.where { (Condition(showsDone) || !$0.done) && $0.due < Date() }
/// let undated = Todo.where { $0.due == nil }
/// ```
///
/// Fields make conditions, and the operators combine them. A condition is true or false, never unknown. Comparing with
/// `nil` is equality: `$0.due == nil` finds records without a value, `!=` those with one. An order comparison with a
/// missing value is false, and `!` turns false into true. Text is compared by its UTF-8 bytes. Two fields of one kind
/// compare like a field and a value: `$0.spent > $0.budget`.
public struct Condition: Sendable, Hashable {
  package let tree: ConditionTree

  package init(_ tree: ConditionTree) { self.tree = tree }

  /// A condition with the same value for every record: `Condition(showsDone) || !$0.done`.
  ///
  /// `&&` drops a part that is always true, and `||` one that is always false, so such a part costs nothing.
  public init(_ value: Bool) { tree = value ? .all : .none }

  /// The condition as text, in the form that `bothy db query --where` reads.
  package var description: String { tree.description }

  /// Returns a condition that is true if both conditions are.
  ///
  /// Both sides are made at once; nothing is short-circuited in Swift. SQLite may use an index of either side. A
  /// condition of more than 10,000 parts or 32 levels throws `BothyError` `invalidQuery` at the fetch.
  public static func && (left: Condition, right: Condition) -> Condition {
    Condition(left.tree && right.tree)
  }

  /// Returns a condition that is true if at least one of the conditions is.
  ///
  /// SQLite uses indexes only if each side has one, else it visits every record that the rest of the query leaves. For
  /// many values of one field write `values.contains($0.field)`.
  public static func || (left: Condition, right: Condition) -> Condition {
    Condition(left.tree || right.tree)
  }

  /// Returns the negation of the condition. An order comparison with a missing value is false, so its negation is true.
  ///
  /// A negated equality, order comparison, circle or box uses no index.
  public static prefix func ! (condition: Condition) -> Condition { Condition(!condition.tree) }
}
