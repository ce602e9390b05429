# The usual question of a script.
while read -r -p 'Name? ' name; do
	echo "Hello, $name."
done
